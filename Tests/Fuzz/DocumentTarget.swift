import Foundation
import SignalboxCore

/// Checks that `Body` reads and writes a JSON text consistently, and that Foundation accepts every accepted text.
enum DocumentTarget {
    private static let limits = MessageLimits(bytes: 1 << 16, depth: 512)

    static func run(_ document: [UInt8]) {
        let body: Body
        do throws(BodyError) {
            body = try Body(json: Bytes(document), limits: limits)
        } catch {
            let offset = error.code == .tooLarge ? 0 : error.offset ?? -1
            return require((0...document.count).contains(offset), "the offset of \(error) is within the document")
        }
        BodyReading.checkRoundTrip(body)
        _ = BodyReading(of: body)
        checkTree(body)
        let isAccepted = (try? JSONSerialization.jsonObject(with: Data(document), options: .fragmentsAllowed)) != nil
        require(isAccepted || holdsHugeNumber(body), "Foundation refuses \(String(decoding: document, as: UTF8.self))")
    }

    /// Checks that a decoded value survives writing, reading and decoding.
    private static func checkTree(_ body: Body) {
        do {
            let tree = try body.decode(JSONTree.self)
            let written = try BodyWriter.write(tree, depth: 512)
            let again = try Body(json: written, limits: MessageLimits(bytes: 1 << 24, depth: 512))
            let other = try again.decode(JSONTree.self)
            require(BodyReading.written(other) == written.text, "\(written.text ?? "?") round-trips")
        } catch {
            fatalError("a body does not decode as a tree: \(error)")
        }
    }

    /// Foundation refuses a number beyond the range of `Double`. Such a number may hide a second reason in a mutated
    /// input, which the differential test covers.
    private static func holdsHugeNumber(_ body: Body) -> Bool {
        body.jsonText.split { !"0123456789+-.eE".contains($0) }.contains { number in
            Double(number).map { !$0.isFinite } ?? false
        }
    }
}

/// Checks that a number decodes as the standard library converts its literal, or is refused by a rule of the reader.
enum NumberTarget {
    static func run(_ input: [UInt8]) {
        guard let literal = String(validating: input, as: UTF8.self), isNumber(input) else {
            // The bytes are not a number, so they must not decode as one.
            return require((try? Body(json: Bytes(input)).decode(Double.self)) == nil || hasSpace(input), "a number")
        }
        let body: Body
        do {
            body = try Body(json: Bytes(input))
        } catch {
            return require(error.code == .tooLarge, "\(literal) is a number of RFC 8259: \(error)")
        }
        check(body, literal, Int8.self)
        check(body, literal, Int32.self)
        check(body, literal, Int64.self)
        check(body, literal, UInt8.self)
        check(body, literal, UInt64.self)
        checkFloat(try? body.decode(Double.self), Double(literal), literal)
        checkFloat(try? body.decode(Float.self), Float(literal), literal)
    }

    private static func check<Integer: FixedWidthInteger & Decodable>(
        _ body: Body,
        _ literal: String,
        _ type: Integer.Type
    ) {
        let value = try? body.decode(type)
        require(value == Integer(literal), "\(literal) as \(type) is \(String(describing: value))")
    }

    private static func checkFloat<Value: BinaryFloatingPoint & LosslessStringConvertible>(
        _ value: Value?,
        _ rounded: Value?,
        _ literal: String
    ) {
        guard let rounded, rounded.isFinite else { return require(value == nil, "\(literal) is beyond \(Value.self)") }
        guard let value else { return require(!literal.contains { ".eE".contains($0) }, "\(literal) is refused") }
        require(value == rounded && value.sign == rounded.sign, "\(literal) is \(value), expected \(rounded)")
        if let whole = Int64(literal) {
            require(Int64(exactly: value) == whole, "\(literal) is decoded inexactly as \(value)")
        }
    }

    /// A second implementation of the grammar of RFC 8259, section 6.
    private static func isNumber(_ bytes: [UInt8]) -> Bool {
        (try? #/-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+\-]?[0-9]+)?/#.wholeMatch(in: String(decoding: bytes, as: UTF8.self)))
            .flatMap { $0 } != nil
    }

    private static func hasSpace(_ bytes: [UInt8]) -> Bool {
        [0x20, 0x09, 0x0A, 0x0D].contains(bytes.first) || [0x20, 0x09, 0x0A, 0x0D].contains(bytes.last)
    }
}
