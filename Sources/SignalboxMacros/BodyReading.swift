#if Macros
import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxBuilder

/// The statements of a struct's reader, or what prevents it.
struct BodyReading {
    /// The assignments, in the order in which synthesized decoding reads the members.
    private(set) var statements = CodeBlockItemListSyntax()
    private(set) var diagnostics: [Diagnostic] = []

    /// Whether a diagnostic is an error.
    var isRefused: Bool { diagnostics.contains { $0.diagMessage.severity == .error } }

    init(of declaration: StructDeclSyntax) {
        let members = declaration.memberBlock.members
        var properties: [StoredProperty] = []
        for member in members {
            if let found = member.decl.as(VariableDeclSyntax.self) {
                let (stored, problems) = StoredProperty.all(in: found)
                properties += stored
                diagnostics += problems
            } else if let diagnostic = BodyReading.diagnostic(for: member.decl) {
                diagnostics.append(diagnostic)
            }
        }
        let keys = CodingKeyCases(in: members)
        diagnostics += keys.diagnostics
        if let cases = keys.cases {
            read(cases, of: properties)
        } else if keys.diagnostics.isEmpty {
            for property in properties { read(property, from: StringLiteralExprSyntax(content: property.identifier)) }
        }
        let hasMembers = keys.cases.map { !$0.isEmpty } ?? !properties.isEmpty
        if hasMembers, statements.isEmpty { statements.append("try body._object()") }
    }

    private static func diagnostic(for declaration: DeclSyntax) -> Diagnostic? {
        if let initializer = declaration.as(InitializerDeclSyntax.self) {
            let parameters = initializer.signature.parameterClause.parameters
            guard parameters.count == 1 else { return nil }
            switch parameters.first?.firstName.text {
            case "from": return Diagnostic(node: initializer.initKeyword, message: Complaint.ownDecoding)
            case "reading": return Diagnostic(node: initializer.initKeyword, message: Complaint.ownReader)
            default: return nil
            }
        }
        guard let condition = declaration.as(IfConfigDeclSyntax.self), condition.mayStore else { return nil }
        return Diagnostic(
            node: condition.clauses.first?.poundKeyword ?? condition.poundEndif,
            message: Complaint.condition
        )
    }

    private mutating func read(_ cases: [CodingKeyCases.Case], of properties: [StoredProperty]) {
        for key in cases {
            if let property = properties.first(where: { $0.identifier == key.identifier }) {
                read(property, from: key.member)
            } else {
                diagnostics.append(Diagnostic(node: key.token, message: Complaint.unknownCase(key.identifier)))
            }
        }
        let names = Set(cases.map(\.identifier))
        for property in properties where !names.contains(property.identifier) && !property.hasDefault {
            let complaint = Complaint.neitherReadNorDefault(property.identifier)
            diagnostics.append(Diagnostic(node: property.name, message: complaint))
        }
    }

    private mutating func read(_ property: StoredProperty, from member: StringLiteralExprSyntax) {
        if let obstacle = property.obstacle {
            diagnostics.append(obstacle)
        } else if property.isConstant {
            diagnostics.append(property.constantWarning)
        } else {
            let name = property.name.trimmed
            statements.append("self.\(name) = try body._member(\(member), body._type(of: \\Self.\(name)))")
        }
    }
}

extension IfConfigDeclSyntax {
    /// Whether any branch declares a property that may be stored.
    fileprivate var mayStore: Bool {
        clauses.contains { clause in
            guard case .decls(let members) = clause.elements else { return false }
            return members.contains { member in
                guard let variable = member.decl.as(VariableDeclSyntax.self) else { return false }
                let (properties, diagnostics) = StoredProperty.all(in: variable)
                return !properties.isEmpty || !diagnostics.isEmpty
            }
        }
    }
}
#endif
