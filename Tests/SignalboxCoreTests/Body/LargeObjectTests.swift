import SignalboxCore
import Testing

@Suite struct LargeObjectTests {
    /// Names of every kind: plain, escaped, not ASCII, equal to others but for an accent.
    private static func name(_ number: Int) -> String {
        switch number % 4 {
        case 0: "n\(number)"
        case 1: "\u{E9}\(number)"
        case 2: "quoted \"\(number)\""
        default: "e\(number)"
        }
    }

    private static func object(_ count: Int, _ value: (Int) -> String = { "\($0)" }) throws -> String {
        let members = try (0..<count).map { "\(try BodyWriter.write(name($0)).text ?? ""):\(value($0))" }
        return "{" + members.joined(separator: ",") + "}"
    }

    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// Reads the members of the numbers given, in that order.
    private struct Picked: Decodable {
        static let orders = [
            Array(0..<100), (0..<100).reversed(), [99, 0, 99, 50, 51, 50, 52, 99], [99, 100, 0, 1, 101, 2],
        ]
        let values: [[Int?]]
        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Key.self)
            values = try Picked.orders.map { order in
                try order.map { number in
                    let key = Key(stringValue: LargeObjectTests.name(number))
                    return try container.contains(key) ? container.decode(Int.self, forKey: key) : nil
                }
            }
        }
    }

    @Test(arguments: [1, 64, 65, 66, 300])
    func allMembersAreFound(count: Int) throws {
        let body = try Reading.body(try LargeObjectTests.object(count))
        let table = try body.decode([String: Int].self)
        #expect(table.count == count)
        #expect((0..<count).allSatisfy { table[LargeObjectTests.name($0)] == $0 })
    }

    @Test func membersAreFoundInAnyOrder() throws {
        let body = try Reading.body(try LargeObjectTests.object(100))
        let expected = Picked.orders.map { order in order.map { $0 < 100 ? Optional($0) : nil } }
        #expect(try body.decode(Picked.self).values == expected)
    }

    @Test func largeObjectsInLargeObjectsAreFound() throws {
        let inner = try LargeObjectTests.object(70)
        let body = try Reading.body(try LargeObjectTests.object(70) { _ in inner })
        let table = try body.decode([String: [String: Int]].self)
        #expect(table.count == 70)
        #expect(table.values.allSatisfy { $0.count == 70 && $0[LargeObjectTests.name(69)] == 69 })
    }

    @Test func capturesStandBeforeManyMembers() throws {
        let captures = [RouteNaming.Capture(name: "n0", value: "7"), RouteNaming.Capture(name: "new", value: "8")]
        let body = try Reading.body(try LargeObjectTests.object(100), captures: captures)
        let table = try body.decode([String: Int].self)
        #expect(table.count == 101)
        #expect((table["n0"], table["new"], table["n4"]) == (7, 8, 4))
    }

    @Test func severalTasksMayReadOneBody() async throws {
        let body = try Reading.body(try LargeObjectTests.object(200))
        let sums = await withTaskGroup { group in
            for _ in 0..<8 { group.addTask { try? body.decode([String: Int].self).values.reduce(0, +) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(sums == Array(repeating: 199 * 100, count: 8))
    }

    /// The square of the members would take hours, on a slow machine days: the limit tells the two apart anywhere.
    @Test(.timeLimit(.minutes(30)))
    func readingAllMembersIsNoSearchForEach() throws {
        let body = try Reading.body(try LargeObjectTests.object(200_000))
        #expect(try body.decode([String: Int].self).count == 200_000)
    }
}
