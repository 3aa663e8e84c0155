# Every target is a script, so that it can be read, and run, without make.

.PHONY: help deps install deb demo demo-web recording quick test heavy conformance crash-matrix soak chaos cluster fuzz lint bench capacity docs api sbom completions man clean

help:
	@echo "make deps   install the system packages (JavaScriptCore, libcurl, libwebsockets, libyaml, OpenSSL, mosquitto, its clients, pkg-config, python3-venv)"
	@echo "make install  build the program for use and install it in PREFIX, /usr/local by default, with its completions, manual pages and units"
	@echo "make deb    build a Debian package into .build/deb"
	@echo "make demo   build, start a broker on a free port, publish messages and show each outcome; run a page, a chat and a dispatcher"
	@echo "make demo-web  build and run a shop whose pages send messages to the application, in off-screen web views; take a picture"
	@echo "make recording  run the demo and write docs/demo.svg, the picture of README.md"
	@echo "make quick  format, arrows, build, and the tests that a change affects, since origin/main or BASE=commit"
	@echo "make test   every check and test except the heavy ones; the last line counts passed and failed"
	@echo "make heavy  sanitizers, fuzzing, Autobahn, differential, DocC, crash rows, macro; make heavy-STEP runs one step (.ci/heavy lists them); LONG=1 fuzzes each target for ten minutes, and adds the long runs of MQTT packets"
	@echo "make conformance  run the cases of the Autobahn test suite against the command, as 'make heavy-autobahn' does"
	@echo "make crash-matrix  kill an MQTT receiver at each point of the tables in docs/delivery.md and docs/durability.md, and write them"
	@echo "make soak   kill the receiver at random under load, 200 or SOAK_KILLS=n times: no acknowledged message may be lost; 10,000,000 or SOAK_MESSAGES=n messages may not make a journal grow"
	@echo "make chaos  break a running program in four ways, measure when the console and top name each fault, and take the pictures of docs/operations/faults.md"
	@echo "make cluster  kill, stop and cut off the nodes of a cluster of brokers and the workers under load, and print when each has service again: no acknowledged message may be lost"
	@echo "make fuzz   run the reader and the wire formats under libFuzzer, each for a minute or SECONDS=n; resume the last corpus"
	@echo "make lint   check format, arrows between the modules, imports, and modules without Foundation"
	@echo "make bench  measure the benchmarks on a quiet machine, in release builds, and write their tables into docs"
	@echo "make capacity  build the program as it is installed, measure it with 1, 10 and 100 sources and plugins and up to 3,000 connections on a quiet machine, and write docs/capacity.md; CAPACITY_PROGRAM=PATH measures another build"
	@echo "make docs   build the documentation of the libraries; report the share of documented public symbols"
	@echo "make api    record the public symbols in docs/api; a frozen module may only add symbols"
	@echo "make sbom   write a bill of materials to .build/signalbox.spdx.json (SPDX 2.3)"
	@echo "make completions  write the completions of the command for bash, zsh and fish to .build/completions"
	@echo "make man    write the manual pages of the command to .build/man/man1"
	@echo "make clean  remove all build products"

deps:
	@.ci/deps

install:
	@.ci/deps
	@packaging/install $(or $(PREFIX),/usr/local)

deb:
	@.ci/deps package
	@packaging/deb

demo: deps
	@examples/tour/demo

demo-web:
	@.ci/deps web
	@examples/webshop/demo

recording: deps
	@examples/tour/record docs/demo.svg

quick:
	@.ci/quick $(BASE)

test:
	@.ci/test

heavy:
	@.ci/heavy

heavy-%:
	@.ci/heavy $*

conformance:
	@Tests/WebSocketConformance/run

crash-matrix: deps
	@.ci/crash matrix

soak: deps
	@.ci/crash soak $(or $(SOAK_KILLS),200)
	@.ci/crash size $(or $(SOAK_MESSAGES),10000000)

chaos:
	@.ci/chaos

cluster:
	@.ci/deps cluster
	@Tests/Cluster/run

# Make hands SECONDS on in the environment too, where bash would count on from it.
fuzz:
	@env -u SECONDS .ci/fuzz --seconds $(or $(SECONDS),60)
	@env -u SECONDS .ci/wire-fuzz --seconds $(or $(SECONDS),60)

lint:
	@.ci/lint

bench:
	@.ci/deps web
	@Tests/Benchmarks/run --write

# The benchmarks run in their own folder, so the path is made absolute.
capacity: deps
	@CAPACITY_PROGRAM="$(if $(CAPACITY_PROGRAM),$(abspath $(CAPACITY_PROGRAM)))" Tests/Benchmarks/run --write $(if $(BUSY),--busy) capacity

docs:
	@.ci/docs
	@.ci/docc

api:
	@.ci/api --record

sbom: deps
	@swift package resolve
	@.ci/sbom .build/signalbox.spdx.json

completions: deps
	@swift build --product signalbox
	@.ci/completions "$$(swift build --show-bin-path)/signalbox" .build/completions

man: deps
	@swift build --product signalbox
	@.ci/man "$$(swift build --show-bin-path)/signalbox" .build/man/man1

clean:
	rm -rf .build .build-* examples/.build examples/*/.build Tests/*/.build
