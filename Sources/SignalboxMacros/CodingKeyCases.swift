#if Macros
import SwiftDiagnostics
import SwiftParser
import SwiftSyntax
import SwiftSyntaxBuilder

/// The cases of the enum `CodingKeys` in a struct, in their order.
struct CodingKeyCases {
    struct Case {
        /// The name in the source.
        let token: TokenSyntax
        /// The name of the member in a body.
        let member: StringLiteralExprSyntax

        var identifier: String { token.identifier?.name ?? token.text }
    }

    /// The cases, or `nil` if the struct declares no `CodingKeys`.
    private(set) var cases: [Case]?
    private(set) var diagnostics: [Diagnostic] = []

    init(in members: MemberBlockItemListSyntax) {
        for member in members {
            switch member.decl.as(DeclSyntaxEnum.self) {
            case .enumDecl(let found) where found.name.isCodingKeys: read(found)
            case .typeAliasDecl(let found) where found.name.isCodingKeys: refuse(found.name)
            case .structDecl(let found) where found.name.isCodingKeys: refuse(found.name)
            default: continue
            }
        }
    }

    private mutating func refuse(_ name: TokenSyntax) {
        diagnostics.append(Diagnostic(node: name, message: Complaint.notAnEnum))
    }

    private mutating func read(_ declaration: EnumDeclSyntax) {
        var found: [Case] = []
        for member in declaration.memberBlock.members {
            if let cases = member.decl.as(EnumCaseDeclSyntax.self) {
                found += cases.elements.map(Case.init)
            } else if let property = member.decl.as(VariableDeclSyntax.self), property.isStringValue {
                diagnostics.append(Diagnostic(node: property.bindings, message: Complaint.computedNames))
            }
        }
        cases = found
    }
}

extension CodingKeyCases.Case {
    /// A raw value that is not text leaves the name of the case as the member's name, as the standard library does.
    fileprivate init(_ element: EnumCaseElementSyntax) {
        token = element.name
        let rawValue = element.rawValue?.value.as(StringLiteralExprSyntax.self)?.representedLiteralValue
        let name = element.name.identifier?.name ?? element.name.text
        member = StringLiteralExprSyntax(content: rawValue ?? name)
    }
}

extension TokenSyntax {
    fileprivate var isCodingKeys: Bool { identifier?.name == "CodingKeys" }
}

extension VariableDeclSyntax {
    fileprivate var isStringValue: Bool {
        bindings.contains { $0.pattern.as(IdentifierPatternSyntax.self)?.identifier.text == "stringValue" }
    }
}
#endif
