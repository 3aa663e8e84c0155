#if Macros
import SwiftDiagnostics
import SwiftSyntax

/// A stored property, as it is spelled.
struct StoredProperty {
    /// The name as code refers to it, with backticks if it needs them.
    let name: TokenSyntax
    let declaration: VariableDeclSyntax
    /// Whether an initializer need not assign the property.
    let hasDefault: Bool
    /// Whether the property is a `let` with an initial value.
    let isConstant: Bool
    /// Why the macro cannot read the property, which matters only if it is to be read.
    let obstacle: Diagnostic?

    /// The property's name without backticks.
    var identifier: String { name.identifier?.name ?? name.text }
}

extension StoredProperty {
    /// Returns the stored properties of one declaration. A pattern of several names is a diagnostic.
    static func all(in declaration: VariableDeclSyntax) -> (properties: [StoredProperty], diagnostics: [Diagnostic]) {
        guard
            !declaration.modifiers.contains(where: {
                [.keyword(.static), .keyword(.class)].contains($0.name.tokenKind)
            })
        else { return ([], []) }
        var properties: [StoredProperty] = []
        var diagnostics: [Diagnostic] = []
        // In `var a, b: Int?` the type belongs to both.
        var type: TypeSyntax?
        for binding in declaration.bindings.reversed() {
            type = binding.typeAnnotation?.type ?? (binding.initializer == nil ? type : nil)
            guard binding.isStored else { continue }
            if let name = binding.pattern.as(IdentifierPatternSyntax.self)?.identifier {
                properties.append(StoredProperty(named: name, binding: binding, type: type, in: declaration))
            } else if !binding.pattern.is(WildcardPatternSyntax.self) {
                diagnostics.append(Diagnostic(node: binding.pattern, message: Complaint.pattern))
            }
        }
        return (properties.reversed(), diagnostics.reversed())
    }

    private init(
        named name: TokenSyntax,
        binding: PatternBindingSyntax,
        type: TypeSyntax?,
        in declaration: VariableDeclSyntax
    ) {
        let isLet = declaration.bindingSpecifier.tokenKind == .keyword(.let)
        let isOptional =
            type?.is(OptionalTypeSyntax.self) == true || type?.is(ImplicitlyUnwrappedOptionalTypeSyntax.self) == true
        self.name = name
        self.declaration = declaration
        hasDefault = binding.initializer != nil || !isLet && isOptional || declaration.unknownAttribute != nil
        isConstant = isLet && binding.initializer != nil
        obstacle = declaration.obstacle(for: name.identifier?.name ?? name.text)
    }

    /// The warning that synthesized decoding has too: the property looks like a member of the message but is not read.
    var constantWarning: Diagnostic {
        let specifier = declaration.bindingSpecifier
        let variable = specifier.with(\.tokenKind, .keyword(.var))
        let fixIt = FixIt(
            message: Remedy.makeVariable,
            changes: [.replace(oldNode: Syntax(specifier), newNode: Syntax(variable))]
        )
        return Diagnostic(node: specifier, message: Complaint.constant, fixIt: fixIt)
    }
}

extension PatternBindingSyntax {
    /// Whether the binding has storage: no accessors, or only observers.
    fileprivate var isStored: Bool {
        switch accessorBlock?.accessors {
        case nil: true
        case .getter: false
        case .accessors(let accessors):
            accessors.allSatisfy { [.keyword(.willSet), .keyword(.didSet)].contains($0.accessorSpecifier.tokenKind) }
        }
    }
}

extension VariableDeclSyntax {
    /// Attributes that do not change how a property is stored. Any other may be a property wrapper or a macro.
    private static let harmless: Set = ["available", "usableFromInline", "nonobjc", "preconcurrency"]

    fileprivate var unknownAttribute: AttributeSyntax? {
        attributes.lazy.compactMap { $0.as(AttributeSyntax.self) }.first { !Self.harmless.contains($0.name) }
    }

    fileprivate func obstacle(for name: String) -> Diagnostic? {
        if let attribute = unknownAttribute {
            return Diagnostic(node: attribute, message: Complaint.attribute(name, attribute: attribute.name))
        }
        for modifier in modifiers {
            switch modifier.name.tokenKind {
            case .keyword(.lazy):
                var others = self
                others.modifiers = modifiers.filter { $0.id != modifier.id }
                let changes = [FixIt.Change.replace(oldNode: Syntax(self), newNode: Syntax(others))]
                let fixIt = FixIt(message: Remedy.removeLazy, changes: changes)
                return Diagnostic(node: modifier, message: Complaint.lazy(name), fixIt: fixIt)
            case .keyword(.weak), .keyword(.unowned):
                let complaint = Complaint.reference(name, modifier: modifier.name.text)
                return Diagnostic(node: modifier, message: complaint)
            default: continue
            }
        }
        return nil
    }
}
#endif
