# Every target is a script, so that it can be read, and run, without make.

.PHONY: help deps demo demo-web quick test heavy conformance crash-matrix soak fuzz lint bench docs api sbom clean

help:
	@echo "make deps   install what the system must have (JavaScriptCore, libmosquitto, mosquitto, its clients, pkg-config, python3-venv)"
	@echo "make demo   build, start a broker on a free port, publish messages and show what became of each; run a page, and a chat"
	@echo "make demo-web  build and run a shop whose pages speak to the application, in web views that nobody sees; takes a picture"
	@echo "make quick  format, arrows, build, and the tests that a change concerns: all since origin/main, or BASE=commit"
	@echo "make test   every check and every test but the heavy ones; the last line says how many passed and failed"
	@echo "make heavy  sanitizers, fuzzing, Autobahn, differential, DocC, crash rows; one of them: make heavy-STEP (.ci/heavy lists them); LONG=1 fuzzes each target for ten minutes"
	@echo "make conformance  the cases of the Autobahn test suite against the command, as 'make heavy-autobahn' runs them"
	@echo "make crash-matrix  kills a process that receives over MQTT at each point of the table in docs/delivery.md, and writes the table"
	@echo "make soak   kills it 200 times at random under load, or SOAK_KILLS=n times: nothing acknowledged may be lost"
	@echo "make fuzz   the reader and the wire formats under libFuzzer, each for a minute or SECONDS=n; resumes the last corpus"
	@echo "make lint   format, arrows between the modules, imports, Foundation-free modules"
	@echo "make bench  the benchmarks, in release builds"
	@echo "make docs   the documentation of the libraries, and the share of documented public symbols"
	@echo "make api    records the public symbols in docs/api; those of a frozen module may only grow"
	@echo "make sbom   writes a bill of materials to .build/signalbox.spdx.json (SPDX 2.3)"
	@echo "make clean  remove everything that was built"

deps:
	@.ci/deps

demo: deps
	@examples/tour/demo

demo-web:
	@.ci/deps web
	@examples/webshop/demo

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

# Make hands SECONDS on in the environment too, where bash would count on from it.
fuzz:
	@env -u SECONDS .ci/fuzz --seconds $(or $(SECONDS),60)
	@env -u SECONDS .ci/wire-fuzz --seconds $(or $(SECONDS),60)

lint:
	@.ci/lint

bench: deps
	@Tests/Benchmarks/run

docs:
	@.ci/docs
	@.ci/docc

api:
	@.ci/api --record

sbom: deps
	@swift package resolve
	@.ci/sbom .build/signalbox.spdx.json

clean:
	rm -rf .build .build-* examples/.build examples/*/.build Tests/*/.build
