#if WebSocket

/// Tracks the connections that have not upgraded, and decides which ones to evict.
///
/// A connection is *silent* until its first request, *busy* while the server answers it, and *idle* between requests. While
/// a request waits for its plugin, its connection is *held*: it is neither overdue nor evicted.
/// Only one thread uses this type.
struct HTTPConnections<Handle: Hashable> {
    enum Decision: Equatable {
        case admitted
        /// The connection is admitted, and this other one must be closed.
        case evicting(Handle)
        /// A limit has been reached, and no connection can be evicted.
        case refused
        /// The connection has used up its requests or its lifetime, or was evicted.
        case expired
    }

    private struct Entry {
        let address: String
        let began: ContinuousClock.Instant
        var requests = 0
        /// When the current request started, or its answer, or `nil` between requests.
        var busySince: ContinuousClock.Instant?
        var isHeld = false
    }

    /// Addresses with at most this many connections are treated alike, so only age decides which connection is evicted.
    /// If an address has more, its connections are evicted first. Without this threshold, nearly every address would
    /// count as the busiest one while many clients are connecting.
    private static var fairShare: Int { 4 }

    let limits: HTTPLimits
    private var entries: [Handle: Entry] = [:]
    private var silent = ConnectionQueue<Handle>()
    private var idle = ConnectionQueue<Handle>()
    private var busy = ConnectionQueue<Handle>()
    /// Counts the idle and busy connections of each address.
    private var requesting = AddressCounts()
    /// Connections that were evicted or refused, but that the library has not destroyed yet.
    private(set) var closing: Set<Handle> = []

    init(_ limits: HTTPLimits) {
        self.limits = limits
    }

    /// The number of connections, not counting evicted ones.
    var count: Int { entries.count }

    /// Whether nothing is stored.
    var isEmpty: Bool {
        entries.isEmpty && silent.isEmpty && idle.isEmpty && busy.isEmpty && requesting.isEmpty && closing.isEmpty
    }

    // MARK: - Arrival

    /// Decides whether to accept another connection.
    ///
    /// - Parameter isFull: Whether descriptors are running short. If so, a connection is evicted even if there are
    ///   fewer sockets than allowed.
    mutating func admit(webSockets: Int, isFull: Bool = false) -> Decision {
        let isAtLimit = webSockets + count >= limits.sockets
        guard isAtLimit || isFull else { return .admitted }
        let share = HTTPConnections.fairShare
        if let victim = silent.oldest(share: share) ?? idle.oldest(share: share) { return evict(victim) }
        return isAtLimit ? .refused : .admitted
    }

    /// Adds a connection that has been accepted.
    mutating func add(_ handle: Handle, from address: String, at now: ContinuousClock.Instant) {
        remove(handle)
        entries[handle] = Entry(address: address, began: now)
        silent.append(handle, from: address)
    }

    // MARK: - Requests

    /// Starts a request. If the connection is refused or has expired, the caller must close it.
    mutating func beginRequest(_ handle: Handle, at now: ContinuousClock.Instant) -> Decision {
        guard var entry = entries[handle] else { return .expired }
        guard entry.requests < limits.requests, now - entry.began < limits.lifetime else {
            close(handle)
            return .expired
        }
        var decision = Decision.admitted
        if entry.requests == 0 {
            decision = makeRoom(for: entry.address)
            guard decision != .refused else {
                close(handle)
                return .refused
            }
            requesting.increase(entry.address)
        }
        entry.requests += 1
        entry.busySince = now
        entries[handle] = entry
        silent.remove(handle)
        idle.remove(handle)
        busy.append(handle, from: entry.address)
        return decision
    }

    /// Exempts a connection from the limits of time while its request is being handled.
    mutating func hold(_ handle: Handle) {
        guard entries[handle]?.busySince != nil else { return }
        entries[handle]?.isHeld = true
        busy.remove(handle)
    }

    /// Ends ``hold(_:)``, as the answer is now sent.
    mutating func release(_ handle: Handle, at now: ContinuousClock.Instant) {
        guard let entry = entries[handle], entry.isHeld else { return }
        entries[handle]?.isHeld = false
        entries[handle]?.busySince = now
        busy.append(handle, from: entry.address)
    }

    /// Returns whether the current request is the last one on its connection.
    func isLast(_ handle: Handle) -> Bool {
        guard let entry = entries[handle], let busySince = entry.busySince else { return true }
        return entry.requests >= limits.requests || busySince - entry.began >= limits.lifetime / 2
    }

    /// Records that the response has been sent, so that the connection can make another request.
    mutating func answered(_ handle: Handle) {
        guard let entry = entries[handle], entry.busySince != nil else { return }
        entries[handle]?.busySince = nil
        busy.remove(handle)
        idle.append(handle, from: entry.address)
    }

    private mutating func makeRoom(for address: String) -> Decision {
        let own = requesting[address]
        if own >= limits.connectionsPerAddress { return evict(idle.oldest(of: address)) }
        guard requesting.total >= limits.connections else { return .admitted }
        if let victim = idle.oldest(share: HTTPConnections.fairShare) { return evict(victim) }
        // Without eviction, a few addresses with slow readers would keep all others out. Nothing is evicted if the
        // newcomer's address would then have as many connections as the busiest one. Otherwise, the two addresses would
        // keep evicting each other.
        guard let busiest = requesting.busiest, busiest.count > own + 1 else { return .refused }
        return evict(busy.oldest(of: busiest.address))
    }

    // MARK: - End

    /// Removes a connection that has ended or is about to upgrade.
    mutating func remove(_ handle: Handle) {
        closing.remove(handle)
        guard let entry = entries.removeValue(forKey: handle) else { return }
        if entry.requests > 0 { requesting.decrease(entry.address) }
        silent.remove(handle)
        idle.remove(handle)
        busy.remove(handle)
    }

    /// Evicts connections that have exceeded their lifetime or are taking too long to read a document.
    mutating func evictOverdue(at now: ContinuousClock.Instant) {
        var overdue: [Handle] = []
        for (handle, entry) in entries where isOverdue(entry, at: now) { overdue.append(handle) }
        for handle in overdue { close(handle) }
    }

    private func isOverdue(_ entry: Entry, at now: ContinuousClock.Instant) -> Bool {
        if entry.isHeld { return false }
        guard let busySince = entry.busySince else { return now - entry.began >= limits.lifetime }
        return now - busySince >= limits.transferTime
    }

    private mutating func evict(_ handle: Handle?) -> Decision {
        guard let handle else { return .refused }
        close(handle)
        return .evicting(handle)
    }

    private mutating func close(_ handle: Handle) {
        remove(handle)
        closing.insert(handle)
    }
}

/// A queue of connections, in the order in which they were added. Each address also has a queue.
///
/// All operations take constant time on average.
struct ConnectionQueue<Handle: Hashable> {
    /// Connections in a queue, oldest first. Some entries may be stale.
    private typealias Line = ArraySlice<(handle: Handle, serial: UInt64)>

    private struct Member {
        let address: String
        let serial: UInt64
    }

    private var members: [Handle: Member] = [:]
    private var line: Line = []
    private var lines: [String: Line] = [:]
    private var counts = AddressCounts()
    private var lastSerial: UInt64 = 0

    var count: Int { members.count }

    /// Whether nothing is stored, not even stale entries.
    var isEmpty: Bool { members.isEmpty && line.isEmpty && lines.isEmpty && counts.isEmpty }

    /// Adds a connection as the newest.
    mutating func append(_ handle: Handle, from address: String) {
        remove(handle)
        lastSerial += 1
        members[handle] = Member(address: address, serial: lastSerial)
        counts.increase(address)
        line.append((handle: handle, serial: lastSerial))
        lines[address, default: []].append((handle: handle, serial: lastSerial))
        compact(address)
    }

    /// Removes a connection if the queue contains it.
    mutating func remove(_ handle: Handle) {
        guard let member = members.removeValue(forKey: handle) else { return }
        counts.decrease(member.address)
        if counts[member.address] == 0 { lines[member.address] = nil }
        if members.isEmpty { line = [] }
    }

    /// Returns the oldest connection of the busiest address if that address has more than `share` connections.
    /// Otherwise, returns the oldest connection of all.
    mutating func oldest(share: Int) -> Handle? {
        if let busiest = counts.busiest, busiest.count > share { return oldest(of: busiest.address) }
        ConnectionQueue.dropStale(&line, members)
        return line.first?.handle
    }

    /// Returns the oldest connection of the given address.
    mutating func oldest(of address: String) -> Handle? {
        guard counts[address] > 0 else { return nil }
        ConnectionQueue.dropStale(&lines[address, default: []], members)
        return lines[address]?.first?.handle
    }

    private static func dropStale(_ line: inout Line, _ members: [Handle: Member]) {
        while let first = line.first, members[first.handle]?.serial != first.serial { line = line.dropFirst() }
    }

    /// Drops stale entries, which would otherwise accumulate.
    private mutating func compact(_ address: String) {
        if line.count > 2 * members.count + 64 { line = live(line) }
        if let own = lines[address], own.count > 2 * counts[address] + 16 { lines[address] = live(own) }
    }

    private func live(_ line: Line) -> Line {
        Line(line.filter { members[$0.handle]?.serial == $0.serial })
    }
}

/// Counts the connections of each address.
struct AddressCounts {
    private var counts: [String: Int] = [:]
    /// The addresses by their number of connections, so that the highest number is found without a search.
    private var addresses: [Int: Set<String>] = [:]
    private var highest = 0
    private(set) var total = 0

    var isEmpty: Bool { counts.isEmpty && addresses.isEmpty && highest == 0 && total == 0 }

    /// An address with the highest number of connections.
    var busiest: (address: String, count: Int)? {
        guard let address = addresses[highest]?.first else { return nil }
        return (address, highest)
    }

    subscript(address: String) -> Int { counts[address, default: 0] }

    mutating func increase(_ address: String) {
        move(address, to: self[address] + 1)
        total += 1
    }

    mutating func decrease(_ address: String) {
        guard self[address] > 0 else { return }
        move(address, to: self[address] - 1)
        total -= 1
    }

    private mutating func move(_ address: String, to count: Int) {
        let before = self[address]
        addresses[before]?.remove(address)
        if addresses[before]?.isEmpty == true { addresses[before] = nil }
        counts[address] = count > 0 ? count : nil
        if count > 0 { addresses[count, default: []].insert(address) }
        // Counts change by 1. When the only address with the highest count changes, its new count is therefore the
        // highest.
        if count > highest || addresses[highest] == nil { highest = count }
    }
}
#endif
