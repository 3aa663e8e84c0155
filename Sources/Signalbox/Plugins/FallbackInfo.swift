import SignalboxCore

/// The body of an action as the first of two plugins takes it, else as the second does.
public struct FallbackInfo<First: Decodable & Sendable, Second: Decodable & Sendable>: Decodable, Sendable {
    enum Choice: Sendable {
        case first(First)
        /// With what kept the body from being the first's.
        case second(Second, instead: BodyError)
    }

    let choice: Choice

    /// Reads the first form, or else the second.
    ///
    /// - Throws: `BodyError` with both findings when neither fits. What they have in common of code, place and offset is
    ///   the error's; else it is an `invalidValue` of the whole body.
    public init(from decoder: any Decoder) throws {
        let body = try decoder.singleValueContainer()
        let finding: BodyError
        do {
            choice = .first(try body.decode(First.self))
            return
        } catch {
            finding = BodyError.from(error, in: decoder)
        }
        do {
            choice = .second(try body.decode(Second.self), instead: finding)
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

/// What kept a body from being of a type, with the type's name.
enum FallbackText {
    static func of(_ type: Any.Type, _ finding: BodyError) -> String {
        // A composed form has named its own.
        type is any ComposedForm.Type ? finding.detail : "\(type): \(finding)"
    }
}

/// A form that consists of forms, whose findings name each of them.
protocol ComposedForm {}

extension FallbackInfo: ComposedForm {}
