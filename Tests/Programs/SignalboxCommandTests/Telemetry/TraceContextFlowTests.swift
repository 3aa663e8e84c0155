import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

/// A message's trace goes through a program: in with the message, and out with what the plugins send.
@Suite(.timeLimit(.minutes(10))) struct TraceContextFlowTests {
    private static let context = ["traceparent: \(SentTrace.parent)", "tracestate: a=1"]

    /// What a server received with a request: the `traceparent` and the `tracestate`.
    private static func trace(_ request: HTTPPeer.Request?) -> String {
        [request?.values("traceparent"), request?.values("tracestate")].compactMap { $0?.first }.joined(separator: " ")
    }

    @Test func requestsAndProgramsCarryThePluginsSpan() async throws {
        let collector = try Collector()
        let server = try HTTPPeer { _, _ in .status(200, "1") }
        let http = "{ action: http, use: http, url: 'http://127.0.0.1:\(server.port)/', from: [hooks] }"
        try await TelemetryTrial.with(
            otlp: collector.url,
            TelemetryTrial.exec,
            TelemetryTrial.process,
            http,
            files: ["trace.py": TelemetryTrial.program]
        ) { trial in
            let exec = try await trial.post("exec", Self.context[0], Self.context[1])
            let process = try await trial.post("process", Self.context[0], Self.context[1])
            _ = try await trial.post("http", Self.context[0], Self.context[1])
            _ = try await trial.post("exec")
            let spans = try await collector.spans(4)
            #expect(spans.prefix(3).allSatisfy { $0.traceId == SentTrace.trace && $0.parentSpanId == SentTrace.span })
            #expect(spans.map(\.name) == ["exec process", "process process", "http process", "exec process"])
            #expect(exec == "\"\(spans[0].parent) a=1\"")
            #expect(process == "\"\(spans[1].parent) a=1\"")
            #expect(Self.trace(server.requests.first) == "\(spans[2].parent) a=1")
            #expect(spans[3].traceId != SentTrace.trace && spans[3].parentSpanId == nil)
            #expect(spans[0]["signalbox.source"] == "hooks" && spans[0]["signalbox.attempt"] == "1")
            #expect(spans[0].flags == 0x301 && spans[3].flags == 0x101 && spans[0].traceState == "a=1")
            #expect(spans[0].startTimeUnixNano <= spans[0].endTimeUnixNano && spans[0].kind == 5)
        }
    }

    @Test func anEventNamesTheParent() async throws {
        let collector = try Collector()
        try await TelemetryTrial.with(otlp: collector.url, TelemetryTrial.exec) { trial in
            let binary = ["ce-specversion: 1.0", "ce-type: exec", "ce-source: /s", "ce-id: 1"]
            _ = try await trial.post(
                "exec",
                binary[0],
                binary[1],
                binary[2],
                binary[3],
                "ce-traceparent: \(SentTrace.parent)"
            )
            _ = try await trial.post(
                "any",
                body:
                    #"{"specversion":"1.0","type":"exec","source":"/s","id":"2","traceparent":"\#(SentTrace.parent)"}"#,
                type: "application/cloudevents+json"
            )
            let spans = try await collector.spans(2)
            #expect(spans.map(\.parentSpanId) == [SentTrace.span, SentTrace.span])
            #expect(spans.map { $0["signalbox.id"] } == ["1", "2"])
        }
    }

    @Test func anEnvelopeOfAWebSocketNamesTheParent() async throws {
        let collector = try Collector()
        let chat = "chat: { chat: { port: 0, absent_origin: allowed } }"
        let plugin = "{ action: say, use: reply, value: 1, from: [chat] }"
        try await TelemetryTrial.with(otlp: collector.url, plugin, sources: chat) { trial in
            try await trial.process.errors.untilLine(containing: "chat: listening on ws://")
            let line = try #require(trial.process.errors.lines.first { $0.contains("chat: listening on ws://") })
            let url = try #require(line.split(separator: " ").first { $0.hasPrefix("ws://") })
            let client = try CommandProcess(["connect", String(url), "--raw", "--timeout", "100s"], isTyped: true)
            try client.type(#"{"action":"say","id":"c1","traceparent":"\#(SentTrace.parent)"}"#)
            #expect(await client.output.line(with: "c1") == #"{"id":"c1","outcome":"handled","reply":1}"#)
            let spans = try await collector.spans(1)
            #expect(spans.first?.traceId == SentTrace.trace && spans.first?.parentSpanId == SentTrace.span)
            try client.closeInput()
            await client.ends()
        }
    }

    private static func push(_ broker: Broker) -> String {
        "push: { mqtt: { broker: '\(broker.url)', client_id: a, topics: ['in/{action}'], "
            + "publishing: { reply_topics: ['back/#'] } } }"
    }

    private static let publish = "{ action: order, use: publish, source: push, topic: 'out/{action}', from: [push] }"

    private static func publish(_ broker: Broker, _ parent: String, _ arguments: String...) async throws {
        let properties = ["--user-property", "traceparent=\(parent)", "--user-property", "tracestate=a=1"]
        let arguments = ["publish", broker.url, "-t", "in/order", "-m", "{}"] + properties + arguments
        #expect(try await CommandProcess.run(arguments).status == 0)
    }

    @Test func userPropertiesOfMQTTNameTheParentAndAreSent() async throws {
        let collector = try Collector()
        try await Broker.with { broker in
            let out = try await BrokerTrial.subscriber(broker.url, "-t", "out/#", "--count", "2", "-F", "%P")
            let back = try await BrokerTrial.subscriber(broker.url, "-t", "back/#", "--count", "1", "-F", "%P")
            try await TelemetryTrial.with(otlp: collector.url, Self.publish, sources: Self.push(broker)) { trial in
                try await trial.process.errors.untilLine(containing: "subscribed to")
                // A trace that is not sampled is passed on, and not exported.
                try await Self.publish(broker, SentTrace.unsampled)
                let unsampled = try #require(await out.output.line(with: "traceparent"))
                #expect(
                    unsampled.hasPrefix("traceparent:00-\(SentTrace.trace)-")
                        && unsampled.hasSuffix("-00 tracestate:a=1")
                )
                #expect(!unsampled.contains(SentTrace.span))
                try await Self.publish(broker, SentTrace.parent, "--response-topic", "back/7")
                let spans = try await collector.spans(1)
                #expect(spans.count == 1)
                #expect(spans[0].traceId == SentTrace.trace && spans[0].parentSpanId == SentTrace.span)
                #expect(await out.output.line(with: "traceparent") == "traceparent:\(spans[0].parent) tracestate:a=1")
                let reply = await back.output.line(with: "traceparent")
                #expect(reply == "outcome:handled traceparent:\(SentTrace.parent) tracestate:a=1")
            }
            await out.ends()
            await back.ends()
        }
    }

    /// Without `otlp` there are no spans, and the message's own context is passed on.
    @Test func theMessagesContextIsPassedOn() async throws {
        let server = try HTTPPeer { _, _ in .status(200, "1") }
        let url = "url: 'http://127.0.0.1:\(server.port)/'"
        let plugins = [
            "{ action: http, use: http, \(url), from: [hooks] }",
            "{ action: own, use: http, \(url), headers: { traceparent: mine }, from: [hooks] }",
            "{ action: mapped, use: chain, steps: [ { use: map, body: { a: 1 } }, { use: http, \(url) } ], from: [hooks] }",
        ]
        try await Broker.with { broker in
            let out = try await BrokerTrial.subscriber(broker.url, "-t", "out/#", "--count", "1", "-F", "%P")
            try await TelemetryTrial.with(
                otlp: nil,
                plugins[0],
                plugins[1],
                plugins[2],
                TelemetryTrial.exec,
                TelemetryTrial.process,
                Self.publish,
                sources: Self.push(broker),
                files: ["trace.py": TelemetryTrial.program],
                environment: ["TRACEPARENT": "00-of-signalbox"]
            ) { trial in
                let expected = "\(SentTrace.parent) a=1"
                #expect(try await trial.post("exec", Self.context[0], Self.context[1]) == "\"\(expected)\"")
                #expect(try await trial.post("process", Self.context[0], Self.context[1]) == "\"\(expected)\"")
                #expect(try await trial.post("exec", "traceparent: 00-malformed", Self.context[1]) == "\" \"")
                for action in ["http", "own"] { _ = try await trial.post(action, Self.context[0], Self.context[1]) }
                let event =
                    #"{"specversion":"1.0","type":"mapped","source":"/s","id":"2","traceparent":"\#(SentTrace.parent)"}"#
                _ = try await trial.post("any", body: event, type: "application/cloudevents+json")
                #expect(server.requests.map(Self.trace) == [expected, "mine", SentTrace.parent])
                try await trial.process.errors.untilLine(containing: "subscribed to")
                try await Self.publish(broker, SentTrace.parent)
                #expect(await out.output.line(with: "traceparent") == "traceparent:\(SentTrace.parent) tracestate:a=1")
            }
            await out.ends()
        }
    }
}
