module nameplate.dev/tools/web

go 1.26.0
