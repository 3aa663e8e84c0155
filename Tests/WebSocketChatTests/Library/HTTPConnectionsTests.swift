import Testing

@testable import WebSocketChat

@Suite struct HTTPConnectionsTests {
    private let start = ContinuousClock.now

    private func table(_ change: (inout HTTPLimits) -> Void) -> HTTPConnections<Int> {
        var limits = HTTPLimits()
        change(&limits)
        return HTTPConnections(limits)
    }

    // MARK: - Silent connections

    @Test func theOldestSilentConnectionIsEvicted() {
        var table = table { $0.sockets = 5 }
        for handle in 1...3 { table.add(handle, from: "a", at: start) }
        #expect(table.admit(webSockets: 1) == .admitted)
        #expect(table.admit(webSockets: 2) == .evicting(1))
        table.remove(2)
        #expect(table.admit(webSockets: 3) == .admitted)
        #expect(table.admit(webSockets: 4) == .evicting(3))
        #expect(table.admit(webSockets: 5) == .refused)
        #expect(table.count == 0)
    }

    @Test func anAddressWithManyConnectionsEvictsItsOwn() {
        var table = table { $0.sockets = 6 }
        table.add(0, from: "friend", at: start)
        for handle in 1...5 { table.add(handle, from: "flood", at: start) }
        for handle in 1...50 {
            #expect(table.admit(webSockets: 0) == .evicting(handle))
            table.add(handle + 5, from: "flood", at: start)
        }
        #expect(table.beginRequest(0, at: start) == .admitted)
    }

    @Test func theOldestIsEvictedAmongManyAddresses() {
        var table = table { $0.sockets = 100 }
        var evicted: [Int] = []
        for handle in 0..<10_000 {
            if case .evicting(let victim) = table.admit(webSockets: 0) {
                evicted.append(victim)
                table.remove(victim)
            }
            table.add(handle, from: "\(handle)", at: start)
        }
        #expect(evicted == Array(0..<9_900))
        #expect(table.count == 100)
        for handle in 9_900..<10_000 { table.remove(handle) }
        #expect(table.isEmpty)
    }

    @Test func descriptorExhaustionEvictsConnections() {
        var table = table { $0.sockets = 5 }
        #expect(table.admit(webSockets: 0, isFull: true) == .admitted)
        for handle in 1...2 { table.add(handle, from: "a", at: start) }
        #expect(table.beginRequest(1, at: start) == .admitted)
        #expect(table.admit(webSockets: 0, isFull: true) == .evicting(2))
        #expect(table.admit(webSockets: 0, isFull: true) == .admitted)
        table.answered(1)
        #expect(table.admit(webSockets: 0, isFull: true) == .evicting(1))
        #expect(table.admit(webSockets: 5, isFull: true) == .refused)
    }

    @Test func evictedConnectionsDoNotCountAndMakeNoRequests() {
        var table = table { limits in
            limits.sockets = 1
            limits.connections = 2
        }
        for handle in 1...100 {
            table.add(handle, from: "a", at: start)
            #expect(table.admit(webSockets: 0) == .evicting(handle))
            #expect(table.count == 0)
        }
        #expect(table.closing == Set(1...100))
        for handle in 1...100 {
            #expect(table.beginRequest(handle, at: start) == .expired)
            table.remove(handle)
        }
        #expect(table.isEmpty)
    }

    // MARK: - Requests

    @Test func theLongestIdleConnectionIsEvictedNotABusyOne() {
        var table = table { $0.connections = 2 }
        for handle in 1...5 { table.add(handle, from: "\(handle)", at: start) }
        #expect(table.beginRequest(1, at: start) == .admitted)
        #expect(table.beginRequest(2, at: start) == .admitted)
        #expect(table.beginRequest(3, at: start) == .refused)
        table.answered(2)
        table.answered(1)
        #expect(table.beginRequest(4, at: start) == .evicting(2))
        #expect(table.beginRequest(1, at: start) == .admitted)
        #expect(table.beginRequest(5, at: start) == .refused)
        #expect(table.closing == [2, 3, 5])
        #expect(table.count == 2)
    }

    @Test func eachAddressHasAQuota() {
        var table = table { limits in
            limits.connections = 10
            limits.connectionsPerAddress = 2
        }
        for (handle, address) in [(1, "a"), (2, "a"), (3, "b"), (4, "a"), (5, "a"), (6, "a")] {
            table.add(handle, from: address, at: start)
        }
        for handle in 1...3 { #expect(table.beginRequest(handle, at: start) == .admitted) }
        table.answered(3)
        #expect(table.beginRequest(4, at: start) == .refused)
        table.answered(2)
        #expect(table.beginRequest(5, at: start) == .evicting(2))
        table.remove(1)
        #expect(table.beginRequest(6, at: start) == .admitted)
    }

    @Test func slowReadersOfTwoAddressesDoNotBlockAThird() {
        var table = table { limits in
            limits.connections = 8
            limits.connectionsPerAddress = 4
        }
        for handle in 1...8 { table.add(handle, from: handle <= 4 ? "a" : "b", at: start) }
        for handle in [1, 5, 2, 6, 3, 7, 4, 8] { #expect(table.beginRequest(handle, at: start) == .admitted) }
        for handle in 9...12 { table.add(handle, from: "c", at: start) }
        var evicted: Set<Int> = []
        for handle in 9...10 {
            guard case .evicting(let victim) = table.beginRequest(handle, at: start) else {
                Issue.record("connection \(handle) evicted none")
                return
            }
            evicted.insert(victim)
        }
        // From each address, the connection that has been busy longest.
        #expect(evicted == [1, 5])
        // Three, three and two: no address has two more than the newcomer's.
        #expect(table.beginRequest(11, at: start) == .refused)
        // An address with many connections cannot evict those of others.
        table.add(13, from: "a", at: start)
        #expect(table.beginRequest(13, at: start) == .refused)
        #expect(table.count == 9)
    }

    @Test func requestsPerConnectionAreLimited() {
        var table = table { $0.requests = 2 }
        table.add(1, from: "a", at: start)
        #expect(table.beginRequest(1, at: start) == .admitted)
        #expect(!table.isLast(1))
        table.answered(1)
        #expect(table.beginRequest(1, at: start) == .admitted)
        #expect(table.isLast(1))
        table.answered(1)
        #expect(table.beginRequest(1, at: start) == .expired)
        #expect(table.closing == [1])
    }

    // MARK: - Time

    @Test func aLateRequestHasItsFullTimeAndIsTheLast() {
        var table = table { $0.lifetime = .seconds(30) }
        for handle in 1...3 { table.add(handle, from: "a", at: start) }
        #expect(table.beginRequest(1, at: start + .seconds(14)) == .admitted)
        #expect(!table.isLast(1))
        table.answered(1)
        #expect(table.beginRequest(2, at: start + .seconds(29)) == .admitted)
        #expect(table.isLast(2))
        table.evictOverdue(at: start + .seconds(29))
        #expect(table.closing.isEmpty)
        table.evictOverdue(at: start + .seconds(30))
        #expect(table.closing == [1, 3])
        table.evictOverdue(at: start + .seconds(58))
        #expect(table.closing == [1, 3])
        table.evictOverdue(at: start + .seconds(59))
        #expect(table.closing == [1, 2, 3])
    }

    @Test func aRequestAfterTheLifetimeIsRefused() {
        var table = table { $0.lifetime = .seconds(30) }
        table.add(1, from: "a", at: start)
        #expect(table.beginRequest(1, at: start) == .admitted)
        table.answered(1)
        #expect(table.beginRequest(1, at: start + .seconds(30)) == .expired)
        #expect(table.closing == [1])
    }

    // MARK: - Bookkeeping

    @Test func aConnectionIsAddedOnce() {
        var table = table { $0.connections = 2 }
        for _ in 0..<3 { table.add(1, from: "a", at: start) }
        #expect(table.count == 1)
        #expect(table.beginRequest(1, at: start) == .admitted)
        table.add(1, from: "b", at: start)
        #expect(table.count == 1)
        table.remove(1)
        #expect(table.isEmpty)
    }

    @Test func endedConnectionsLeaveNoEntries() {
        var table = table { limits in
            limits.sockets = 60
            limits.connections = 20
            limits.connectionsPerAddress = 5
        }
        for round in 0..<200 {
            for handle in 0..<100 {
                if case .evicting(let victim) = table.admit(webSockets: 0), round % 2 == 0 { table.remove(victim) }
                table.add(handle, from: "\(handle % 7)", at: start)
                if handle % 3 == 0 { _ = table.beginRequest(handle, at: start) }
                if handle % 6 == 0 { table.answered(handle) }
            }
            for handle in 0..<100 { table.remove(handle) }
            #expect(table.isEmpty)
        }
    }

    @Test func equivalentAddressesShareAQuota() {
        for (one, other) in [
            ("192.0.2.1", "::ffff:192.0.2.1"), ("192.0.2.1", "::ffff:c000:201"),
            ("2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff"), ("fe80::1", "fe80::2"),
        ] {
            #expect(
                HTTPServerRequest.quotaAddress(of: one) == HTTPServerRequest.quotaAddress(of: other),
                "\(one) \(other)"
            )
        }
        for (one, other) in [
            ("192.0.2.1", "192.0.2.2"), ("::ffff:192.0.2.1", "::ffff:192.0.2.2"),
            ("2001:db8:1:2::1", "2001:db8:1:3::1"), ("::1", "192.0.2.1"), ("::1", "::ffff:0.0.0.1"),
        ] {
            #expect(
                HTTPServerRequest.quotaAddress(of: one) != HTTPServerRequest.quotaAddress(of: other),
                "\(one) \(other)"
            )
        }
        #expect(HTTPServerRequest.quotaAddress(of: "") == "")
    }
}
