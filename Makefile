# The two commands of README, and what they are made of. Everything they need is installed by scripts/install-packages.sh.
DATA_DIR ?= $(CURDIR)/.homeostat
BUILD := $(CURDIR)/build

.PHONY: up down build images test unit e2e golden tidy sanitize fuzz bench soak conformance testcmd clients clean packages packages-test

up: build images
	@scripts/up.sh "$(DATA_DIR)"

down:
	@scripts/down.sh "$(DATA_DIR)"

packages:
	@scripts/install-packages.sh packages packages-run

packages-test: packages
	@scripts/install-packages.sh packages-test

build: packages
	@scripts/build.sh homeostat

images: build
	@scripts/build.sh images

test: packages-test
	@scripts/test.sh all

unit golden e2e tidy: packages-test
	@scripts/test.sh $@

sanitize: packages-test
	@scripts/sanitize.sh

fuzz: packages-test
	@scripts/fuzz.sh

bench: build
	@scripts/bench.sh

soak: packages-test
	@scripts/soak.sh

conformance: packages-test
	@scripts/conformance.sh

testcmd: packages-test
	@scripts/testcmd.sh

clients: packages-test
	@scripts/install-packages.sh packages-clients
	@scripts/clients.sh

clean:
	rm -rf build build-sanitize build-fuzz
