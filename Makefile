.PHONY: check
