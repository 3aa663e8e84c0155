#if Macros
import SwiftCompilerPlugin
import SwiftSyntaxMacros

/// The program that the compiler runs to expand the package's macros.
@main
struct Plugin: CompilerPlugin {
    let providingMacros: [any Macro.Type] = [ActionBodyMacro.self]
}
#else
/// Without the trait no module uses the macro, but a build of the whole package still links its program.
@main
enum Plugin {
    static func main() {}
}
#endif
