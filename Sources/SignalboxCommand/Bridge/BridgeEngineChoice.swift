import ArgumentParser
import SignalboxCore

/// What a page of `bridge` runs in.
enum BridgeEngineChoice: String, CaseIterable, Sendable, ExpressibleByArgument {
    /// Scripts without a document.
    case jsc
    /// A web view of this program.
    case webkitgtk
    /// Whatever browser the user opens the page in.
    case browser

    /// What a page in it cannot have, or the engine cannot do, in words; said before the page begins.
    func limits(of features: AdapterFeatures) -> [String] {
        let navigation = features.contains(.navigates) ? [] : ["navigation: not asked"]
        return switch self {
        case .jsc: navigation + ["documents: none, scripts only"]
        case .webkitgtk: navigation
        case .browser: navigation + ["frames of other origins: not told apart"]
        }
    }
}
