#if Macros
import SwiftDiagnostics

/// What the macro says about a struct for which it cannot write a reader.
enum Complaint: DiagnosticMessage {
    case notAStruct
    case hidden
    case ownDecoding
    case ownReader
    case notAnEnum
    case computedNames
    case unknownCase(String)
    case neitherReadNorDefault(String)
    case constant
    case lazy(String)
    case reference(String, modifier: String)
    case attribute(String, attribute: String)
    case pattern
    case condition

    var message: String {
        switch self {
        case .notAStruct:
            "'@ActionBody' works only on structs; conform to 'BodyReadable' by hand"
        case .hidden:
            "'@ActionBody' cannot extend a private struct that is nested; use 'fileprivate'"
        case .ownDecoding:
            "'@ActionBody' replaces 'init(from:)'; remove one of the two"
        case .ownReader:
            "'@ActionBody' writes 'init(reading:)'; remove one of the two"
        case .notAnEnum:
            "'@ActionBody' needs the cases of 'CodingKeys'; declare an enum in the struct"
        case .computedNames:
            "'@ActionBody' reads the names from raw values; replace 'stringValue' with a raw type of 'String'"
        case .unknownCase(let name):
            "the struct has no stored property '\(name)'; remove the case"
        case .neitherReadNorDefault(let name):
            "'\(name)' is not in 'CodingKeys'; add a case or a default value"
        case .constant:
            "this property is not read, because its initial value cannot be overwritten; use 'var', or leave it out of 'CodingKeys'"
        case .lazy(let name):
            "'@ActionBody' cannot read the lazy property '\(name)'; \(Complaint.ways)"
        case .reference(let name, let modifier):
            "'@ActionBody' cannot read '\(name)', which is '\(modifier)'; \(Complaint.ways)"
        case .attribute(let name, let attribute):
            "'@ActionBody' cannot read '\(name)' with the attribute '@\(attribute)'; \(Complaint.ways)"
        case .pattern:
            "'@ActionBody' cannot read a pattern; declare each property by itself"
        case .condition:
            "'@ActionBody' cannot read properties inside '#if'; move the condition around the struct"
        }
    }

    private static let ways =
        "leave it out of 'CodingKeys' and give it a default value, or conform to 'BodyReadable' by hand"

    var severity: DiagnosticSeverity {
        if case .constant = self { return .warning }
        return .error
    }

    var diagnosticID: MessageID {
        let name = "\(self)".prefix { $0 != "(" }
        return MessageID(domain: "SignalboxMacros", id: String(name))
    }
}

/// An edit that the macro offers.
enum Remedy: FixItMessage {
    case makeFilePrivate
    case makeVariable
    case removeLazy

    var message: String {
        switch self {
        case .makeFilePrivate: "replace 'private' with 'fileprivate'"
        case .makeVariable: "replace 'let' with 'var'"
        case .removeLazy: "remove 'lazy'"
        }
    }

    var fixItID: MessageID { MessageID(domain: "SignalboxMacros", id: "\(self)") }
}
#endif
