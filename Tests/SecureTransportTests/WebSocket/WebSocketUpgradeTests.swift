import AdapterSupport
import SignalboxCore
import Testing

@testable import SecureTransport

@Suite struct WebSocketUpgradeTests {
    /// How an answer is received.
    private enum Outcome: Equatable {
        case incomplete
        case open(Int)
        case failed(UpgradeProblem)
    }

    /// Gives the answer to a machine in pieces of the given sizes, and then in one.
    private func outcome(
        _ answer: [UInt8],
        _ machine: WebSocketUpgrade,
        pieces: some Sequence<Int> = []
    ) -> Outcome {
        var (machine, start) = (machine, 0)
        for size in Array(pieces) + [answer.count] {
            let piece = Array(answer[start...].prefix(size))
            do throws(UpgradeProblem) {
                let end = try piece.withUnsafeBufferPointer { bytes throws(UpgradeProblem) in
                    try machine.receive(UnsafeRawBufferPointer(bytes))
                }
                if let end { return .open(start + end) }
            } catch {
                #expect(throws: error) { try machine.receive(UnsafeRawBufferPointer(start: nil, count: 0)) }
                return .failed(error)
            }
            start += piece.count
        }
        return .incomplete
    }

    private func outcome(_ text: String) throws -> Outcome { outcome(Array(text.utf8), try Upgrade.machine()) }

    /// The outcome of the answer with one of its headers replaced, or removed.
    private func outcome(replacing name: String, with line: String?) throws -> Outcome {
        var lines = String(decoding: Upgrade.answer, as: UTF8.self).split(separator: "\r\n").map(String.init)
        let index = try #require(lines.firstIndex { $0.hasPrefix(name) })
        lines.replaceSubrange(index...index, with: line.map { [$0] } ?? [])
        return try outcome(lines.joined(separator: "\r\n") + "\r\n\r\n")
    }

    // MARK: - The request

    @Test func theRequestIsComplete() throws {
        let headers: [WebSocketRequest.Header] = [
            .init("Authorization", .text("Bearer abc")), .init("X-Name", .text("später")),
        ]
        let machine = try WebSocketUpgrade(Upgrade.request(headers), nonce: Upgrade.nonce)
        let expected =
            "GET /mqtt?tenant=7 HTTP/1.1\r\nHost: broker.example:9001\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
            + "Sec-WebSocket-Protocol: mqtt\r\nAuthorization: Bearer abc\r\nX-Name: später\r\n\r\n"
        #expect(String(decoding: machine.head, as: UTF8.self) == expected)
        let plain = try WebSocketUpgrade(WebSocketRequest(host: "[::1]"))
        let text = String(decoding: plain.head, as: UTF8.self)
        #expect(text.hasPrefix("GET / HTTP/1.1\r\nHost: [::1]\r\n") && !text.contains("Protocol"))
    }

    @Test func eachKeyIsAnotherAndHas16Bytes() throws {
        let request = try Upgrade.request()
        let keys = try (0..<100).map { _ in
            let lines = String(decoding: try WebSocketUpgrade(request).head, as: UTF8.self).split(separator: "\r\n")
            let key = try #require(lines.first { $0.hasPrefix("Sec-WebSocket-Key: ") }).dropFirst(19)
            // The length of 16 bytes in base64.
            #expect(key.utf8.count == 24 && key.hasSuffix("=="))
            return key
        }
        #expect(Set(keys).count == 100)
    }

    @Test func theAcceptValueIsThatOfTheSpecification() {
        #expect(WebSocketUpgrade.accept(for: "dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
        #expect(WebSocketUpgrade.accept(for: "x3JJHMbDL1EzLkh9GBhXDw==") == "HSmrc0sMlYUkAGmm5OPpG2HaGWk=")
    }

    @Test(arguments: ["", "mqtt", "/a b", "/a\r\nX: y", "/ü", "/\u{7F}"])
    func unusablePathsAreRefused(path: String) {
        #expect(
            throws: UpgradeProblem.unusableRequest("the path does not begin with / or contains forbidden characters")
        ) { try WebSocketRequest(path: path, host: "x") }
    }

    @Test(arguments: ["", "a b", "a\n", "ü"])
    func unusableHostsAreRefused(host: String) {
        #expect(throws: UpgradeProblem.unusableRequest("the host is empty or contains forbidden characters")) {
            try WebSocketRequest(host: host)
        }
    }

    @Test func unusableHeadersAreRefused() {
        for name in [
            "Host", "UPGRADE", "connection", "Sec-WebSocket-Key", "sec-websocket-anything", "Content-Length",
            "Transfer-Encoding",
            "Expect",
        ] {
            let text = "the header \(name) belongs to the handshake and cannot be set"
            #expect(throws: UpgradeProblem.unusableRequest(text)) {
                try Upgrade.request([.init(name, .text("x"))])
            }
        }
        for name in ["", "a b", "a:", "ä", "a\r"] {
            let text = "the header name \(name.debugDescription) is not a token (RFC 9110, 5.6.2)"
            #expect(throws: UpgradeProblem.unusableRequest(text)) {
                try Upgrade.request([.init(name, .text("x"))])
            }
        }
        for value in ["", "a\r\nX: y", "a\n", "\0", "\u{7F}"] {
            let text = "the header X has a value that is empty or contains control characters"
            #expect(throws: UpgradeProblem.unusableRequest(text)) {
                try Upgrade.request([.init("X", .text(value))])
            }
        }
        for subprotocol in ["", "a b", "a,b"] {
            #expect(throws: UpgradeProblem.unusableRequest("a subprotocol is not a token (RFC 9110, 5.6.2)")) {
                try WebSocketRequest(host: "x", subprotocols: [subprotocol])
            }
        }
    }

    @Test func secretsAreReadAgainForEachRequest() throws {
        let name = "SIGNALBOX_UPGRADE_TEST"
        defer { unsetenv(name) }
        let request = try Upgrade.request([.init("X", .environment(name))])
        #expect(!String(describing: request).contains("first"))
        for value in ["first", "second"] {
            setenv(name, value, 1)
            let text = String(decoding: try WebSocketUpgrade(request).head, as: UTF8.self)
            #expect(text.hasSuffix("\r\nX: \(value)\r\n\r\n"))
        }
        setenv(name, "a\r\nY: z", 1)
        let text = "the header X has a value that is empty or contains control characters"
        #expect(throws: UpgradeProblem.unusableRequest(text)) { try WebSocketUpgrade(request) }
        unsetenv(name)
        #expect(throws: UpgradeProblem.secretUnavailable("the environment variable \(name) is not set")) {
            try WebSocketUpgrade(request)
        }
    }

    // MARK: - The answer

    @Test func eachDivisionGivesTheSame() throws {
        let machine = try Upgrade.machine()
        let stream = Upgrade.answer + [0x82, 0]
        for size in 1...stream.count {
            for second in [0, 1, 2, 50] {
                #expect(outcome(stream, machine, pieces: [size, second]) == .open(Upgrade.answer.count))
            }
        }
        #expect(
            outcome(stream, machine, pieces: repeatElement(1, count: stream.count)) == .open(Upgrade.answer.count)
        )
        for count in Upgrade.answer.indices {
            #expect(outcome(Array(Upgrade.answer[..<count]), machine) == .incomplete)
        }
    }

    /// The values of each header, by its name in lower case.
    private func naiveHeaders(_ lines: some Sequence<String>) -> [String: [String]]? {
        var values: [String: [String]] = [:]
        for line in lines {
            guard let colon = line.unicodeScalars.firstIndex(of: ":") else { return nil }
            let name = String(line.unicodeScalars[..<colon]).lowercased()
            let allowed = "abcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~".unicodeScalars
            guard !name.isEmpty, name.unicodeScalars.allSatisfy({ allowed.contains($0) }) else { return nil }
            var value = line.unicodeScalars[colon...].dropFirst()
            while let first = value.first, first == " " || first == "\t" { value.removeFirst() }
            while let last = value.last, last == " " || last == "\t" { value.removeLast() }
            values[name, default: []].append(String(value))
        }
        return values
    }

    /// Whether the answer opens the WebSocket, read with other means than those of the product.
    private func naiveAccepts(_ answer: [UInt8]) -> Bool {
        var text = String(String.UnicodeScalarView(answer.map { Unicode.Scalar($0) }))
        guard text.unicodeScalars.last == "\n" else { return false }
        text.unicodeScalars.removeLast()
        var lines = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            String(line.last == "\r" ? line.dropLast() : line)
        }
        guard lines.popLast() == "" else { return false }
        let isControlled = lines.contains { line in
            line.unicodeScalars.contains { $0.value < 32 && $0 != "\t" || $0.value == 127 }
        }
        guard !isControlled, let status = lines.first, status.unicodeScalars.count > 11 else { return false }
        let versions = (1...9).map { "HTTP/1.\($0) 101" }
        let end = status.unicodeScalars.dropFirst(12)
        guard versions.contains(String(status.unicodeScalars.prefix(12))), end.isEmpty || end.first == " " else {
            return false
        }
        guard let values = naiveHeaders(lines.dropFirst()) else { return false }
        let options = (values["connection"] ?? []).flatMap { $0.unicodeScalars.split(separator: ",") }.map { option in
            // Spaces inside are kept, so that they spoil the option.
            var option = option
            while let first = option.first, first == " " || first == "\t" { option.removeFirst() }
            while let last = option.last, last == " " || last == "\t" { option.removeLast() }
            return String(option).lowercased()
        }
        return values["upgrade"]?.map { $0.lowercased() } == ["websocket"] && options.contains("upgrade")
            && values["sec-websocket-accept"] == ["s3pPLMBiTxaQ9kYGzzhZRbK+xOo="]
            && values["sec-websocket-protocol"] == ["mqtt"] && values["sec-websocket-extensions"] == nil
    }

    @Test func eachDamagedByteIsJudged() throws {
        let machine = try Upgrade.machine()
        var accepted = 0
        for index in Upgrade.answer.indices {
            let byte = Upgrade.answer[index]
            // Each bit, the neighbours, and the bytes that have a meaning in a head.
            let flips = (0..<8).map { byte ^ 1 << UInt8($0) }
            let values = Set(flips + [byte &+ 1, byte &- 1, 0, 9, 10, 13, 32, 44, 58, 127, 128, 255])
            for value in values where value != byte {
                var damaged = Upgrade.answer
                damaged[index] = value
                let found = outcome(damaged, machine)
                var isOpen = false
                if case .open(let end) = found { isOpen = end == damaged.count }
                if isOpen { accepted += 1 }
                // Compared without a macro, which would take most of the time.
                guard isOpen != naiveAccepts(damaged) else { continue }
                Issue.record("\(index) \(value): \(found)")
            }
        }
        // For example, the reason and the header Server may be different.
        #expect(accepted > 200)
    }

    @Test func eachHeaderIsNeeded() throws {
        #expect(try outcome(replacing: "Upgrade", with: nil) == .failed(.upgradeHeader))
        #expect(try outcome(replacing: "Upgrade", with: "Upgrade: h2c") == .failed(.upgradeHeader))
        #expect(try outcome(replacing: "Upgrade", with: "Upgrade: websocket, h2c") == .failed(.upgradeHeader))
        #expect(
            try outcome(replacing: "Upgrade", with: "Upgrade: websocket\r\nUpgrade: h2c") == .failed(.upgradeHeader)
        )
        #expect(
            try outcome(replacing: "Upgrade", with: "Upgrade: h2c\r\nUpgrade: websocket") == .failed(.upgradeHeader)
        )
        #expect(try outcome(replacing: "connection", with: nil) == .failed(.connectionHeader))
        #expect(try outcome(replacing: "connection", with: "Connection: close") == .failed(.connectionHeader))
        let two = try outcome(replacing: "connection", with: "Connection: UPGRADE\r\nConnection: close")
        guard case .open = two else {
            Issue.record("\(two)")
            return
        }
        #expect(try outcome(replacing: "Server", with: "Sec-WebSocket-Extensions: x") == .failed(.extensions))
        let empty = try outcome(replacing: "Server", with: "Sec-WebSocket-Extensions:")
        guard case .open = empty else {
            Issue.record("\(empty)")
            return
        }
    }

    @Test func theAcceptValueMustFit() throws {
        let name = "Sec-WebSocket-Accept"
        for line in [
            nil, "\(name): s3pPLMBiTxaQ9kYGzzhZRbK+xOo", "\(name): S3pPLMBiTxaQ9kYGzzhZRbK+xOo=", "\(name):",
            "\(name): s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\(name): s3pPLMBiTxaQ9kYGzzhZRbK+xOo=",
            "\(name): dGhlIHNhbXBsZSBub25jZQ==",
        ] {
            #expect(try outcome(replacing: name, with: line) == .failed(.acceptHeader))
        }
    }

    @Test func theSubprotocolMustBeSelected() throws {
        let name = "Sec-WebSocket-Protocol"
        for line in [nil, "\(name): MQTT", "\(name): mqttv3.1", "\(name):", "\(name): mqtt\r\n\(name): mqtt"] {
            #expect(try outcome(replacing: name, with: line) == .failed(.subprotocol))
        }
        let machine = try WebSocketUpgrade(WebSocketRequest(host: "x"), nonce: Upgrade.nonce)
        #expect(outcome(Upgrade.answer, machine) == .failed(.subprotocol))
    }

    @Test func otherStatusesEndTheAttempt() throws {
        for status in [200, 204, 301, 400, 401, 403, 404, 426, 429, 500, 599] {
            #expect(try outcome("HTTP/1.1 \(status) \r\n") == .failed(.status(status)))
            #expect(try outcome("HTTP/1.0 \(status)\n") == .failed(.status(status)))
            #expect(!UpgradeProblem.status(status).reason.isEmpty)
        }
        #expect(UpgradeProblem.status(404).needsReconfiguration && !UpgradeProblem.status(503).needsReconfiguration)
        #expect(!UpgradeProblem.status(429).needsReconfiguration && UpgradeProblem.subprotocol.needsReconfiguration)
    }

    @Test func interimAnswersAreSkipped() throws {
        let interim = Array("HTTP/1.1 103 Early Hints\r\nUpgrade: h2c\r\nSec-WebSocket-Accept: x\r\n\r\n".utf8)
        let stream = interim + interim + Upgrade.answer
        for size in 0...stream.count {
            #expect(outcome(stream, try Upgrade.machine(), pieces: [size]) == .open(stream.count))
        }
    }

    @Test func otherProtocolsAreRecognised() throws {
        for text in [
            "SSH-2.0-x", "\u{20}\u{2}\0\0", "HTTP/2 101", "\n", "HTTP/1.1\n", "HTTP/1.1 1x1\n", "HTTP/1.1 999\n",
            "HTTP/1.0 101\n", "HTTP/1.1 101x\n", "HTTP/1.1 99 x\n", "HTTP/1.1\u{1}",
        ] {
            #expect(try outcome(text) == .failed(.notHTTP), "\(text)")
        }
        for line in ["no colon", ": x", "a b: x", " folded", "a : x", "x: a\u{1}", "x: a\rb", "x: \u{7F}", "ä: x"] {
            #expect(try outcome("HTTP/1.1 101 OK\r\n\(line)\r\n") == .failed(.invalidAnswer), "\(line)")
        }
    }

    @Test func theAnswerIsBounded() throws {
        let limit = WebSocketUpgrade.answerLimit
        let filler = limit - Upgrade.answer.count - "X: \r\n".utf8.count
        for (more, isAccepted) in [(0, true), (1, false)] {
            var answer = Upgrade.answer
            answer.insert(
                contentsOf: Array("X: \(String(repeating: "y", count: filler + more))\r\n".utf8),
                at: answer.count - 2
            )
            #expect(answer.count == limit + more)
            #expect(outcome(answer, try Upgrade.machine()) == (isAccepted ? .open(limit) : .failed(.answerTooLong)))
        }
        let endless = Array("HTTP/1.1 100 x\r\n".utf8) + Array(repeatElement(UInt8(ascii: "y"), count: limit))
        #expect(outcome(endless, try Upgrade.machine(), pieces: [5_000]) == .failed(.answerTooLong))
        let interim = Array(repeatElement("HTTP/1.1 100 x\r\n\r\n".utf8, count: limit / 18 + 1).joined())
        #expect(outcome(interim, try Upgrade.machine()) == .failed(.answerTooLong))
    }
}
