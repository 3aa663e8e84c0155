import Foundation
import SignalboxCore

/// A JSON text is read alike by `Body` and in a batch, and what is accepted is JSON for Foundation as well.
enum DocumentTarget {
    private static let limits = MessageLimits(bytes: 1 << 16, depth: 512)

    static func run(_ document: [UInt8]) {
        let body: Body
        do throws(BodyError) {
            body = try Body(json: Bytes(document), limits: limits)
        } catch {
            let offset = error.code == .tooLarge ? 0 : error.offset ?? -1
            return require((0...document.count).contains(offset), "\(error) is within the document")
        }
        BodyReading.checkRoundTrip(body)
        _ = BodyReading(of: body)
        checkTree(body)
        let isAccepted = (try? JSONSerialization.jsonObject(with: Data(document), options: .fragmentsAllowed)) != nil
        require(isAccepted || holdsHugeNumber(body), "Foundation refuses \(String(decoding: document, as: UTF8.self))")
    }

    /// What was decoded is written, read and decoded to the same value.
    private static func checkTree(_ body: Body) {
        do {
            let tree = try body.decode(JSONTree.self)
            let written = try BodyWriter.write(tree, depth: 512)
            let again = try Body(json: written, limits: MessageLimits(bytes: 1 << 24, depth: 512))
            let other = try again.decode(JSONTree.self)
            require(BodyReading.written(other) == written.text, "\(written.text ?? "?") comes back as it is")
        } catch {
            fatalError("every body is a tree: \(error)")
        }
    }

    /// Foundation refuses a number beyond a `Double`; so may a mutation hide a second reason, which the differential
    /// test is for.
    private static func holdsHugeNumber(_ body: Body) -> Bool {
        body.jsonText.split { !"0123456789+-.eE".contains($0) }.contains { number in
            Double(number).map { !$0.isFinite } ?? false
        }
    }
}
