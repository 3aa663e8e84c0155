import Foundation

/// Programs of this package, as the build left them beside the running tests.
public enum BuiltProgram {
    /// The path of an executable target.
    public static func path(_ name: String) -> String {
        Bundle.main.bundleURL.deletingLastPathComponentIfBundle.appendingPathComponent(name).path
    }
}

extension URL {
    // On Linux the main bundle is the folder of the programs; on Apple platforms tests may run from a bundle inside it.
    fileprivate var deletingLastPathComponentIfBundle: URL {
        pathExtension == "xctest" ? deletingLastPathComponent() : self
    }
}
