module github.com/intentlog/intentlog/examples/retryablehttp

go 1.26.0

require (
	github.com/hashicorp/go-retryablehttp v0.7.8
	github.com/intentlog/intentlog v0.0.0
)

require (
	github.com/google/uuid v1.6.0 // indirect
	github.com/gowebpki/jcs v1.0.2 // indirect
	github.com/hashicorp/go-cleanhttp v0.5.2 // indirect
)

replace github.com/intentlog/intentlog => ../..
