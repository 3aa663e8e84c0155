import AdapterSupport
import SignalboxCore
import SignalboxTesting
import TestSupport

@testable import WebSocketChat

/// A feeder with connections, between a transport and an intake that the test controls.
final class Feeding {
    let sender = FakeSender()
    let intake: FakeIntake
    let hub: ChatHub
    let table: SettlementTable
    let room = RoomRequests()
    let feeder: ArrivalFeeder

    init(
        room count: Int = .max,
        window: Int = 64,
        limits: MessageLimits = MessageLimits(),
        frames: WebSocketFrames = WebSocketFrames(),
        calls: Int = 64
    ) {
        hub = ChatHub(ChatHub.Limits(calls: ChatHub.Calls(inFlight: calls, frames, limits)))
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

    func connection() -> InboundConnection {
        let number = ConnectionID.next()
        hub.opened(number)
        let facts = ChatFacts(role: .server, peer: "192.0.2.1")
        let chat = ChatConnection(number, principal: nil, hub: hub)
        return feeder.connection(chat, origin: Origin(source: "chat", facts: facts))
    }

    /// Feeds a whole message in one piece.
    func read(_ text: String, on connection: InboundConnection, isBinary: Bool = false) -> PieceVerdict {
        read(Array(text.utf8), on: connection, isBinary: isBinary)
    }

    func read(
        _ bytes: [UInt8],
        on connection: InboundConnection,
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
        async let serving: Void = room.serve(intake) { _ in woken.append(()) }
        try await body(woken)
        room.finish()
        intake.close()
        await serving
    }
}

/// An intake with limited room. It settles nothing by itself unless it has a `decide` closure.
final class FakeIntake: Intake {
    struct Taken: Sendable {
        let arrival: Arrival
        fileprivate let settlement: OneSettlement

        func settle(_ outcome: Outcome = .handled(reply: nil)) {
            settlement.settle(outcome)
        }
    }

    private struct State: Sendable {
        var room: Int
        var isClosed = false
        var taken: [Taken] = []
        var batches: [Int] = []
        var roomCalls = 0
        var handlesAll = false
    }

    private let state: Watched<State>
    private let decide: (@Sendable (Taken) -> Void)?

    /// - Parameter decide: Settles an arrival or leaves it unsettled; called inside `submit`.
    init(room: Int = .max, decide: (@Sendable (Taken) -> Void)? = nil) {
        state = Watched(State(room: room))
        self.decide = decide
    }

    /// Returns an intake that handles everything at once.
    static func handling() -> FakeIntake { FakeIntake { $0.settle() } }

    var taken: [Taken] { state.value.taken }
    /// The number of arrivals in each call to `submit`.
    var batches: [Int] { state.value.batches }
    /// The original text of each arrival taken, in order.
    var originals: [String] { taken.map { $0.arrival.original.text ?? "?" } }

    func submit(_ batch: [Arrival], to sink: any SettlementSink) -> Int {
        let new = state.change { state -> [Taken] in
            state.batches.append(batch.count)
            guard !state.isClosed else { return [] }
            let count = min(state.room, batch.count)
            state.room -= count
            let new = batch.prefix(count).map { Taken(arrival: $0, settlement: OneSettlement(of: $0, to: sink)) }
            state.taken += new
            return new
        }
        if state.value.handlesAll {
            for one in new { one.settle() }
        } else if let decide {
            for one in new { decide(one) }
        }
        return new.count
    }

    func room() async throws(SourceClosed) {
        state.change { $0.roomCalls += 1 }
        await state.untilUncancelled { $0.room > 0 || $0.isClosed }
        if state.value.isClosed { throw SourceClosed() }
    }

    func makeRoom(_ count: Int) {
        state.change { $0.room += count }
    }

    /// Handles all unsettled arrivals and every later one.
    func handleAll() {
        let taken = state.change { state in
            state.handlesAll = true
            return state.taken
        }
        for one in taken { one.settle() }
    }

    func close() {
        state.change { $0.isClosed = true }
    }

    /// Settles everything and takes nothing more, after a test has failed.
    func settleAll() {
        handleAll()
        close()
    }

    /// Waits until `count` arrivals have been taken in total; returns early when the task is cancelled.
    func untilTaken(_ count: Int, file: StaticString = #fileID, line: UInt = #line) async {
        await state.until(file: file, line: line) { $0.taken.count >= count }
    }

    /// Waits until `room()` has been called `count` times; returns early when the task is cancelled.
    func waitForRoomRequest(_ count: Int = 1, file: StaticString = #fileID, line: UInt = #line) async {
        await state.until(file: file, line: line) { $0.roomCalls >= count }
    }
}

/// A transport that sends nothing and records its calls.
final class FakeSender: FrameSender {
    enum Call: Equatable, Sendable {
        case message(ConnectionID, [UInt8], MessageKind)
        case command(ConnectionID, FrameCommand)
        case wake

        func isText(on connection: ConnectionID) -> Bool {
            if case .message(connection, _, .text) = self { true } else { false }
        }
    }

    private struct State: Sendable {
        var calls: [Call] = []
        var admissions: [ConnectionID: SendAdmission] = [:]
        /// Sends are refused as overloaded until these are cut.
        var overloaded: [ConnectionID] = []
    }

    private let state = Watched(State())

    var calls: [Call] { state.change { $0.calls } }

    func waitingBytes(on connection: ConnectionID) -> Int? { 0 }

    /// Returns the texts sent on a connection.
    func texts(on connection: ConnectionID) -> [String] {
        calls.compactMap { call in
            guard case .message(connection, let bytes, .text) = call else { return nil }
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    /// Waits until `count` texts have been sent on a connection, and returns them.
    func texts(_ count: Int, on connection: ConnectionID) async -> [String] {
        await state.until { $0.calls.count { $0.isText(on: connection) } >= count }
        return texts(on: connection)
    }

    /// Returns the commands for a connection.
    func commands(for connection: ConnectionID) -> [FrameCommand] {
        calls.compactMap { call in
            guard case .command(connection, let command) = call else { return nil }
            return command
        }
    }

    /// Sets the admission of later messages for the connection.
    func answer(_ admission: SendAdmission, on connection: ConnectionID) {
        state.change { $0.admissions[connection] = admission }
    }

    /// Makes sends report an overload until each of these is cut; the first of them is the slowest.
    func overload(with connections: [ConnectionID]) {
        state.change { $0.overloaded = connections }
    }

    func send(_ message: [UInt8], _ kind: MessageKind, on connection: ConnectionID) -> SendAdmission {
        state.change { state in
            let overload = state.overloaded.first.map { SendAdmission.overloaded(slowest: $0) }
            let admission = state.admissions[connection] ?? overload ?? .accepted
            if admission == .accepted { state.calls.append(.message(connection, message, kind)) }
            return admission
        }
    }

    func perform(_ command: FrameCommand, on connection: ConnectionID) {
        state.change { state in
            if case .cut = command { state.overloaded.removeAll { $0 == connection } }
            state.calls.append(.command(connection, command))
        }
    }

    func wake() {
        state.change { $0.calls.append(.wake) }
    }

}
