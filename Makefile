# Every target is a script, so that it can be read, and run, without make.

.PHONY: help deps demo test lint bench docs clean

help:
	@echo "make deps   install what the system must have (libjavascriptcoregtk, libmosquitto, mosquitto, ...)"
	@echo "make demo   build, start a broker on a free port, publish messages and show what became of each; run a page"
	@echo "make test   every check and every test; the last line says how many passed and failed"
	@echo "make lint   format, arrows between the modules, imports, Foundation-free modules"
	@echo "make bench  the benchmarks, in release builds"
	@echo "make docs   the share of documented public symbols, module by module"
	@echo "make clean  remove everything that was built"

deps:
	@.ci/deps

demo: deps
	@examples/tour/demo

test:
	@.ci/test

lint:
	@.ci/lint

bench: deps
	@Tests/Benchmarks/run

docs:
	@.ci/docs

clean:
	rm -rf .build .build-* examples/.build examples/*/.build Tests/Benchmarks/.build
