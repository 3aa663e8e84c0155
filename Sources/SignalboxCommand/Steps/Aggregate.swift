import AdapterSupport
import Signalbox
import SignalboxCore
import Synchronization

/// A step that collects bodies and hands them on as one list. Safe to use from any thread.
///
/// The call of each body stays open until the call that hands on its list has ended, and then ends in the same way. So no message
/// is acknowledged before its list is handled.
final class AggregateStep: Sendable {
    /// Hands on a list and returns the reply.
    typealias HandOn = @Sendable (CollectedBodies) async throws -> Bytes?

    private let section: AggregateSection
    private let state: Mutex<AggregateState>

    init(_ section: AggregateSection) {
        self.section = section
        state = Mutex(AggregateState(section))
    }

    /// Adds a body to the open list and returns the reply to the list. The call that fills the list hands it on, or else the one
    /// that first notices that its time is over.
    ///
    /// - Parameter deadline: When the call must have ended.
    func call(_ context: ActionContext, deadline: ContinuousClock.Instant, handOn: HandOn) async throws -> Bytes? {
        let item = CollectedItem(body: context.body.json, context: context, deadline: deadline)
        let (place, full) = state.withLock { $0.add(item, at: .now) }
        for list in full { list.isFull.set(()) }
        try await wait(place)
        if let items = state.withLock({ $0.claim(place.list) }) {
            return try await lead(CollectedBodies(items), place.list, handOn)
        }
        guard let result = await AggregateStep.value(of: place.list.result, until: deadline) else {
            try Task.checkCancellation()
            throw Outcome.Failure(.timeout, detail: "the list of the body was not handed on in time")
        }
        return try result.get()
    }

    /// Waits until the list is full or has waited long enough.
    ///
    /// - Throws: `CancellationError` if the call is cancelled. Its body is then no longer in a list that waits.
    private func wait(_ place: AggregateState.Place) async throws {
        _ = await AggregateStep.value(of: place.list.isFull, until: place.list.closes)
        guard Task.isCancelled else { return }
        state.withLock { $0.remove(place) }
        throw CancellationError()
    }

    private func lead(_ bodies: CollectedBodies, _ list: CollectedList, _ handOn: HandOn) async throws -> Bytes? {
        do {
            let reply = try await handOn(bodies)
            list.result.set(.success(reply))
            return reply
        } catch is CancellationError {
            // The other calls are not cancelled, so their source must deliver their messages again.
            list.result.set(.failure(AggregateFailure()))
            throw CancellationError()
        } catch {
            list.result.set(.failure(error))
            throw error
        }
    }

    /// Waits for a value, or returns `nil` when it is too late or the task is cancelled.
    private static func value<Value>(of promise: Promise<Value>, until end: ContinuousClock.Instant) async -> Value? {
        if let value = promise.current { return value }
        return await withTaskGroup(of: Value?.self) { tasks in
            tasks.addTask { await promise.valueUnlessCancelled() }
            tasks.addTask {
                try? await Task.sleep(until: end, clock: .continuous)
                return nil
            }
            defer { tasks.cancelAll() }
            return await tasks.next() ?? nil
        }
    }
}

/// A body that waits in a list.
struct CollectedItem: Sendable {
    let body: Bytes
    let context: ActionContext
    /// When the call of the body must have ended.
    let deadline: ContinuousClock.Instant
}

/// The bodies of a list that is handed on.
struct CollectedBodies: Sendable {
    /// The list as JSON.
    let json: Bytes
    /// The context of the first body, or `nil` for an empty list. Its id and facts stand for the list.
    let first: ActionContext?
    /// When the earliest of the calls must have ended.
    let deadline: ContinuousClock.Instant

    fileprivate init(_ items: [CollectedItem]) {
        var text = JSONText()
        text.append(items, between: "[", and: "]") { item, text in text.append(json: item.body) }
        json = Bytes(text.bytes)
        first = items.first?.context
        deadline = items.map(\.deadline).min() ?? .now
    }
}

/// What the calls of a list share.
struct CollectedList: Sendable {
    fileprivate let number: UInt64
    /// When the list is handed on although it is not full.
    fileprivate let closes: ContinuousClock.Instant
    fileprivate let isFull = Promise<Void>()
    fileprivate let result = Promise<Result<Bytes?, any Error>>()
}

/// The lists that have not been handed on. At most one of them is open; the others are full.
struct AggregateState {
    /// Where a call's body waits.
    struct Place: Sendable {
        let list: CollectedList
        fileprivate let item: UInt64
    }

    private struct Waiting {
        let list: CollectedList
        var items: [(number: UInt64, item: CollectedItem)] = []
        var bytes = 0
    }

    private let section: AggregateSection
    private var lists: [UInt64: Waiting] = [:]
    private var open: UInt64?
    private var lastNumber: UInt64 = 0

    init(_ section: AggregateSection) {
        self.section = section
    }

    /// Adds a body to the open list, or to a new one if it does not fit.
    ///
    /// - Returns: Where the body waits, and the lists that are full now.
    mutating func add(_ item: CollectedItem, at now: ContinuousClock.Instant) -> (Place, full: [CollectedList]) {
        var full: [CollectedList] = []
        if let number = open, let waiting = lists[number], waiting.bytes + item.body.count > section.maximumBytes {
            full.append(waiting.list)
            open = nil
        }
        lastNumber += 1
        let position = lastNumber
        let number = open ?? position
        var waiting = lists[number] ?? Waiting(list: CollectedList(number: number, closes: now + section.within))
        waiting.items.append((position, item))
        waiting.bytes += item.body.count
        lists[number] = waiting
        open = number
        if waiting.items.count >= section.count || waiting.bytes >= section.maximumBytes {
            full.append(waiting.list)
            open = nil
        }
        return (Place(list: waiting.list, item: position), full)
    }

    /// Takes the bodies of a list, for the one call that hands it on. Returns `nil` if another call has taken them.
    mutating func claim(_ list: CollectedList) -> [CollectedItem]? {
        if open == list.number { open = nil }
        return lists.removeValue(forKey: list.number)?.items.map(\.item)
    }

    /// Removes a body from a list that has not been handed on.
    mutating func remove(_ place: Place) {
        guard var waiting = lists[place.list.number] else { return }
        waiting.bytes -= waiting.items.first { $0.number == place.item }?.item.body.count ?? 0
        waiting.items.removeAll { $0.number == place.item }
        lists[place.list.number] = waiting.items.isEmpty ? nil : waiting
        if waiting.items.isEmpty, open == place.list.number { open = nil }
    }

    /// The number of bodies that wait.
    var count: Int { lists.values.reduce(0) { $0 + $1.items.count } }
}

/// The reason why a list was not handled: the call that handed it on was cancelled.
struct AggregateFailure: RetryableError, CustomStringConvertible {
    let description = "the call that handed on the list was cancelled"
    let whenExhausted = RetryExhaustion.abandon
}
