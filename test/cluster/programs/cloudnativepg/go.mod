module nameplate.dev/tools/cloudnativepg

go 1.26.0

require github.com/cloudnative-pg/cloudnative-pg v1.28.0
