public import SignalboxCore

/// The body of an action as the first of two plugins takes it, else as the second does.
public struct FallbackInfo<First: Plugin, Second: Plugin>: Decodable, Sendable {
    enum Choice: Sendable {
        case first(First.Info)
        /// With what kept the body from being the first's.
        case second(Second.Info, instead: BodyError)
    }

    let choice: Choice

    /// Reads the first's `Info`, or else the second's.
    ///
    /// - Throws: `BodyError` with both findings when neither fits. What they have in common of code, place and offset is
    ///   the error's; else it is an `invalidValue` of the whole body.
    public init(from decoder: any Decoder) throws {
        let body = try decoder.singleValueContainer()
        let finding: BodyError
        do {
            choice = .first(try body.decode(First.Info.self))
            return
        } catch {
            finding = BodyError.from(error, in: decoder)
        }
        do {
            choice = .second(try body.decode(Second.Info.self), instead: finding)
        } catch {
            let other = BodyError.from(error, in: decoder)
            throw BodyError(
                finding.code == other.code ? other.code : .invalidValue,
                path: finding.path == other.path ? other.path : "body",
                offset: finding.offset == other.offset ? other.offset : nil,
                detail: "\(FallbackText.of(First.self, finding)); \(FallbackText.of(Second.self, other))"
            )
        }
    }
}
