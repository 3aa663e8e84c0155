import Testing

@testable import NavigationChain
@testable import SignalboxCommand
@testable import SignalboxCore

/// NavigationChain knows no other module, so its table is its own.
@Suite struct UnsafeScalarTests {
    @Test func everyModuleEscapesTheSame() {
        for value in UInt32(0)...0x10FFFF {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let isUnsafe = scalar.isUnsafeInLine
            if LineText.isUnsafe(scalar) != isUnsafe { Issue.record("NavigationChain differs at \(scalar.lineEscape)") }
            if LineEscape.isUnsafe(scalar) != isUnsafe { Issue.record("the command differs at \(scalar.lineEscape)") }
        }
    }
}
