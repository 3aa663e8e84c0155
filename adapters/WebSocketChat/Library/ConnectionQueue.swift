/// Connections in the order in which they were appended, overall and for each address.
///
/// All operations take constant time on average.
struct ConnectionQueue<Handle: Hashable> {
    /// Oldest first. May contain stale entries.
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

    /// Whether nothing is stored, stale entries included.
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

    /// Removes a connection if it is there.
    mutating func remove(_ handle: Handle) {
        guard let member = members.removeValue(forKey: handle) else { return }
        counts.decrease(member.address)
        if counts[member.address] == 0 { lines[member.address] = nil }
        if members.isEmpty { line = [] }
    }

    /// The oldest connection of the busiest address if that address has more than `share` connections; otherwise the oldest
    /// connection of all.
    mutating func oldest(share: Int) -> Handle? {
        if let busiest = counts.busiest, busiest.count > share { return oldest(of: busiest.address) }
        ConnectionQueue.dropStale(&line, members)
        return line.first?.handle
    }

    /// The oldest connection of one address.
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

/// The number of connections of each address.
struct AddressCounts {
    private var counts: [String: Int] = [:]
    /// The addresses with each count, so that the highest count is found without a search.
    private var addresses: [Int: Set<String>] = [:]
    private var highest = 0
    private(set) var total = 0

    var isEmpty: Bool { counts.isEmpty && addresses.isEmpty && highest == 0 && total == 0 }

    /// An address with the highest count.
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
        // A count changes by 1, so the address that leaves the highest count alone has the highest count again.
        if count > highest || addresses[highest] == nil { highest = count }
    }
}
