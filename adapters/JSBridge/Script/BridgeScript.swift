/// bridge.js, for engines in other modules: an expression whose value is a function of a transport.
package enum BridgeScript {
    /// The text, as UTF-8.
    package static var text: [UInt8] { PackageResources.bridge_js }
}
