import SignalboxCore
import SignalboxTesting

@testable import WebSocketChat

/// A feeder with connections, between a transport and an intake that do what the test says.
final class Feeding {
    let sender = FakeSender()
    let intake: FakeIntake
    let hub = ChatHub(.init())
    let table: SettlementTable
    let room = RoomRequests()
    let feeder: ArrivalFeeder

    init(
        room count: Int = .max,
        window: Int = 64,
        limits: MessageLimits = MessageLimits(),
        frames: WebSocketFrames = WebSocketFrames()
    ) {
        intake = FakeIntake(room: count)
        table = SettlementTable(answers: true)
        hub.attach(sender)
        feeder = ArrivalFeeder(
            ArrivalFeeder.Parts(
                frames: frames,
                limits: limits,
                connectionWindow: window,
                intake: intake,
                table: table,
                room: room,
                transport: sender
            )
        )
    }

    func connection() -> ReadConnection {
        let number = ConnectionID.next()
        hub.opened(number)
        let facts = ChatFacts(role: .server, peer: "192.0.2.1")
        let chat = ChatConnection(number, principal: nil, hub: hub)
        return feeder.connection(chat, origin: Origin(source: "chat", facts: facts))
    }

    /// A whole message in one piece.
    func read(_ text: String, on connection: ReadConnection, isBinary: Bool = false) -> PieceVerdict {
        read(Array(text.utf8), on: connection, isBinary: isBinary)
    }

    func read(
        _ bytes: [UInt8],
        on connection: ReadConnection,
        isFirst: Bool = true,
        isFinal: Bool = true,
        isBinary: Bool = false
    ) -> PieceVerdict {
        bytes.withUnsafeBytes { bytes in
            feeder.received(
                MessagePiece(bytes: bytes, isFirst: isFirst, isFinal: isFinal, isBinary: isBinary),
                on: connection
            )
        }
    }

    /// Answers the feeder's requests for room while `body` runs; `woken` grows with each answer.
    func serving(_ body: (_ woken: EventList<Void>) async throws -> Void) async rethrows {
        let woken = EventList<Void>()
        let (room, intake) = (room, intake)
        async let serving: Void = room.serve(intake) { woken.append(()) }
        try await body(woken)
        room.finish()
        intake.close()
        await serving
    }
}
