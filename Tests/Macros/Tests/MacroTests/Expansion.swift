import SwiftDiagnostics
import SwiftParser
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacroExpansion
import SwiftSyntaxMacros

@testable import MacroSources

/// The result of the macro for one source text.
struct Expansion {
    let text: String
    /// One line for each diagnostic: `LINE:COLUMN SEVERITY: message`, and for each edit ` [message: new text]`.
    let diagnostics: [String]

    init(_ source: String, conformances: [TypeSyntax] = ["BodyReadable"]) {
        let file = Parser.parse(source: source)
        let context = BasicMacroExpansionContext(sourceFiles: [
            file: .init(moduleName: "Test", fullFilePath: "Test.swift")
        ])
        let spec = MacroSpec(type: ActionBodyMacro.self, conformances: conformances)
        let expanded = file.expand(
            macroSpecs: ["ActionBody": spec],
            contextGenerator: { node in
                BasicMacroExpansionContext(sharingWith: context, lexicalContext: node.allMacroLexicalContexts())
            },
            indentationWidth: .spaces(4)
        )
        text = expanded.description
        diagnostics = context.diagnostics.map { diagnostic in
            let place = context.location(
                for: diagnostic.position,
                anchoredAt: diagnostic.node,
                fileName: "Test.swift"
            )
            let edits = diagnostic.fixIts.map { " [\($0.message.message): \(Expansion.newText(of: $0))]" }.joined()
            return "\(place.line):\(place.column) \(diagnostic.diagMessage.severity): \(diagnostic.message)\(edits)"
        }
    }

    private static func newText(of fixIt: FixIt) -> String {
        fixIt.changes.map { change in
            if case .replace(_, let node) = change { return node.trimmedDescription }
            return "?"
        }.joined()
    }

    /// The statements of the initializer, without indentation.
    var statements: [String] {
        text.split(separator: "\n").map { $0.drop(while: \.isWhitespace) }.filter {
            $0.hasPrefix("self.") || $0.hasPrefix("try ")
        }
        .map(String.init)
    }
}
