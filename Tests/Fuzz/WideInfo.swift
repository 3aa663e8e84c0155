/// An `Info` with a member of every kind; all may be absent, so that a part of them is enough to go on.
struct WideInfo: Codable {
    enum Level: String, Codable { case low, high }
    enum Shape: Codable {
        case circle(radius: Double)
        case square(Int, name: String)
        case none
    }
    final class Node: Codable {
        let next: Node?
        let v: [Int8?]?
    }

    var a: Int?
    var b: String?
    var c: [Double]?
    var d: [String: UInt64]?
    var e: Level?
    var f: Shape?
    var g: Node?
    var h: Float?
    var i: [[WideInfo]]?
    var n: Int16?
    var k: Bool?
    var l: [UInt8]?
    var action: String?
    var hand: HandInfo?
}
