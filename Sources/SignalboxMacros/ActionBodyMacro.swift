#if Macros
import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// Writes the extension that makes a struct conform to `BodyReadable`.
///
/// Names of the core are written with their module, because the struct may have members of the same names. The types of
/// the properties are not written at all: the compiler takes them from key paths.
struct ActionBodyMacro: ExtensionMacro {
    static func expansion(
        of node: AttributeSyntax,
        attachedTo declaration: some DeclGroupSyntax,
        providingExtensionsOf type: some TypeSyntaxProtocol,
        conformingTo protocols: [TypeSyntax],
        in context: some MacroExpansionContext
    ) throws -> [ExtensionDeclSyntax] {
        guard let declaration = declaration.as(StructDeclSyntax.self) else {
            context.diagnose(Diagnostic(node: declaration.introducer, message: Complaint.notAStruct))
            return []
        }
        if let diagnostic = accessProblem(of: declaration, in: context) {
            context.diagnose(diagnostic)
            return []
        }
        let reading = BodyReading(of: declaration)
        for diagnostic in reading.diagnostics { context.diagnose(diagnostic) }
        guard !reading.isRefused else { return [] }
        let conformance = protocols.isEmpty ? "" : ": SignalboxCore.BodyReadable"
        let access = access(of: declaration, in: context)
        return [
            try ExtensionDeclSyntax(
                """
                \(availability(of: declaration))extension \(type.trimmed)\(raw: conformance) {
                    nonisolated \(raw: access)init(reading body: borrowing SignalboxCore.BodyReader) throws(SignalboxCore.BodyError) {
                        \(reading.statements)
                    }
                }
                """
            )
        ]
    }

    /// The access modifier of the initializer, which must be as accessible as the struct. Below `package` the default suffices.
    private static func access(of declaration: StructDeclSyntax, in context: some MacroExpansionContext) -> String {
        let ofExtension = context.lexicalContext.first?.as(ExtensionDeclSyntax.self)?.modifiers.access
        switch declaration.modifiers.access ?? ofExtension {
        case .public: return "public "
        case .package: return "package "
        default: return ""
        }
    }

    /// The extension is at the top of the file, where a private nested struct is not visible.
    private static func accessProblem(
        of declaration: StructDeclSyntax,
        in context: some MacroExpansionContext
    ) -> Diagnostic? {
        guard !context.lexicalContext.isEmpty,
            let modifier = declaration.modifiers.first(where: { $0.name.tokenKind == .keyword(.private) })
        else { return nil }
        let visible = modifier.name.with(\.tokenKind, .keyword(.fileprivate))
        let changes = [FixIt.Change.replace(oldNode: Syntax(modifier.name), newNode: Syntax(visible))]
        let fixIt = FixIt(message: Remedy.makeFilePrivate, changes: changes)
        return Diagnostic(node: modifier, message: Complaint.hidden, fixIt: fixIt)
    }

    /// The availability of the struct, without which the extension could not refer to it.
    private static func availability(of declaration: StructDeclSyntax) -> AttributeListSyntax {
        declaration.attributes.filter { $0.as(AttributeSyntax.self)?.name == "available" }
    }
}

extension DeclGroupSyntax {
    fileprivate var introducer: TokenSyntax {
        switch Syntax(self).as(SyntaxEnum.self) {
        case .classDecl(let declaration): declaration.classKeyword
        case .enumDecl(let declaration): declaration.enumKeyword
        case .actorDecl(let declaration): declaration.actorKeyword
        case .protocolDecl(let declaration): declaration.protocolKeyword
        case .extensionDecl(let declaration): declaration.extensionKeyword
        default: self.firstToken(viewMode: .sourceAccurate) ?? .identifier("")
        }
    }
}

extension DeclModifierListSyntax {
    /// The access level that is written.
    fileprivate var access: Keyword? {
        for modifier in self where modifier.detail == nil {
            switch modifier.name.tokenKind {
            case .keyword(let keyword) where [.public, .package, .internal, .fileprivate, .private].contains(keyword):
                return keyword
            default: continue
            }
        }
        return nil
    }
}

extension AttributeSyntax {
    /// The attribute's name without arguments.
    var name: String { attributeName.trimmedDescription }
}
#endif
