import Foundation
import Logging
import SignalboxCore
import TestSupport
import Testing
import WebSocketChat

@testable import BrokerKit
@testable import HTTPActions

/// A chat, documents and two sources of requests on one listener.
@Suite(.timeLimit(.minutes(5))) struct SharedListenerTests {
    private static let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private static func chat(_ source: SourceName, _ path: String, on listener: WebListener) throws -> WebSocketServer {
        var configuration = WebSocketServerConfiguration(source: source, port: 0)
        configuration.path = path
        configuration.absentOrigin = .allowed
        configuration.healthPath = nil
        configuration.pages = ["/": WebSocketPage(contentType: "text/plain", body: Array("page".utf8))]
        return try WebSocketServer(configuration, listener: listener, logger: logger)
    }

    private static func requests(
        _ source: SourceName,
        _ pattern: String,
        on listener: WebListener,
        _ action: ActionName? = nil
    ) throws -> HTTPActionServer {
        try RequestTrial.make(
            RequestTrial.configuration(source) {
                $0.routes = [HTTPActionRoute(BodyTests.pattern(pattern), action: action)]
            },
            on: listener
        ).server
    }

    @Test func onePortServesAllOfThem() async throws {
        let listener = try RequestTrial.listener()
        let chat = try Self.chat("chat", "/chat", on: listener)
        let (hooks, orders) = (
            try Self.requests("hooks", "/hooks/{action}", on: listener),
            try Self.requests("orders", "/orders/{action}", on: listener)
        )
        let intakes = [RecordingIntake(), RecordingIntake(), RecordingIntake()]
        try await ServiceRun.during {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await chat.run(into: intakes[0]) }
                group.addTask { try await hooks.run(into: intakes[1]) }
                group.addTask { try await orders.run(into: intakes[2]) }
                try await group.waitForAll()
            }
        } _: {
            let port = try #require(await chat.port())
            #expect(await hooks.port() == port)
            #expect(await orders.port() == port)
            #expect(listener.port == port)
            let peer = try #require(RawPeer(port: port))
            #expect(try await peer.answer(to: HTTPText("POST", "/hooks/a", [], "1")).status == 200)
            #expect(try await peer.answer(to: HTTPText("GET", "/")).body == "page")
            #expect(try await peer.answer(to: HTTPText("POST", "/orders/b", [], "2")).status == 200)
            #expect(try await peer.answer(to: HTTPText("POST", "/other", [], "2")).status == 404)
            let socket = try await WireSide.openClient(port: port)
            socket.send(.text(#"{"action":"hello"}"#))
            #expect(await intakes[0].taken.first(1).map(\.name) == ["hello"])
        }
        #expect(intakes[1].taken.all.map(\.name) == ["a"] && intakes[2].taken.all.map(\.name) == ["b"])
        #expect(listener.port == nil)
    }

    @Test func aSourceThatStopsLeavesTheOthers() async throws {
        let listener = try RequestTrial.listener()
        let hooks = try Self.requests("hooks", "/hooks/{action}", on: listener)
        let intake = RecordingIntake()
        try await ServiceRun.during {
            try await hooks.run(into: intake)
        } _: {
            let port = try #require(await hooks.port())
            for _ in 0..<5 {
                let chat = try Self.chat("chat", "/chat", on: listener)
                try await ServiceRun.during {
                    try await chat.run(into: RecordingIntake())
                } _: {
                    #expect(await chat.port() == port)
                    _ = try await WireSide.openClient(port: port)
                }
                let answer = try await #require(RawPeer(port: port)).answer(to: HTTPText("POST", "/hooks/a", [], "1"))
                #expect(answer.status == 200)
                let upgrade = HTTPText("GET", "/", [])
                #expect(try await #require(RawPeer(port: port)).answer(to: upgrade).status == 404)
            }
        }
        #expect(intake.taken.all.count == 5)
    }

    @Test func aPathBelongsToOneChat() async throws {
        let listener = try RequestTrial.listener()
        let (one, two) = (
            try Self.chat("one", "/chat", on: listener), try Self.chat("two", "/chat", on: listener)
        )
        try await ServiceRun.during {
            try await one.run(into: RecordingIntake())
        } _: {
            _ = try #require(await one.port())
            let error = await #expect(throws: WebSocketChatError.self) { try await two.run(into: RecordingIntake()) }
            #expect(error?.code == .notListening && error?.detail.contains("on the same listener") == true)
        }
        // The path is free again.
        let three = try Self.chat("three", "/chat", on: listener)
        try await ServiceRun.during {
            try await three.run(into: RecordingIntake())
        } _: {
            _ = try #require(await three.port())
        }
    }

    @Test func theMostSpecificRouteOfAllSourcesCounts() async throws {
        let listener = try RequestTrial.listener()
        let (any, one) = (
            try Self.requests("any", "/{action}", on: listener), try Self.requests("one", "/pay", on: listener, "pay")
        )
        let intakes = [RecordingIntake(), RecordingIntake()]
        try await ServiceRun.during {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await any.run(into: intakes[0]) }
                group.addTask { try await one.run(into: intakes[1]) }
                try await group.waitForAll()
            }
        } _: {
            _ = try #require(await any.port())
            let port = try #require(await one.port())
            for path in ["/pay", "/order"] {
                let answer = try await #require(RawPeer(port: port)).answer(to: HTTPText("POST", path, [], "1"))
                #expect(answer.status == 200)
            }
        }
        #expect(intakes.map { $0.taken.all.map(\.name) } == [["order"], ["pay"]])
    }

    @Test func aPortInUseFailsEverySource() async throws {
        let taken = try #require(RawHost())
        let listener = try RequestTrial.listener { $0.port = taken.port }
        let hooks = try Self.requests("hooks", "/{action}", on: listener)
        let error = await #expect(throws: HTTPActionError.self) { try await hooks.run(into: RecordingIntake()) }
        #expect(error?.code == .notListening && error?.source == "hooks")
    }
}
