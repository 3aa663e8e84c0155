public import SignalboxRoutes

/// What pages of one kind are told, under a name, such as `product` or `payment`. A value that never changes.
///
/// Presets derive from one another, so that each says how it differs and nothing more. A preset that must inherit nothing, as
/// one for payments, begins anew with ``init(_:setting:)``.
///
/// ```swift
/// let shop = BridgePreset.default.deriving("shop") { page in
///     page.add(handler: BridgeHandler("user"))
/// }
/// let product = shop.deriving("product") { page in
///     page.set(disableZoom: true)
/// }
/// let configuration = try product.configuration(url: URLText("https://shop.example/product/42"))
/// ```
public struct BridgePreset: Sendable {
    /// What pages get that nobody said anything about: no handlers, no navigation but within the page's own origin, the page's
    /// own title, free scale.
    public static let `default` = BridgePreset(name: "default", configurator: BridgeConfigurator())

    /// The name, in errors and wherever a program shows which preset a page has. Nothing is looked up by it.
    public let name: String
    private let configurator: BridgeConfigurator

    private init(name: String, configurator: BridgeConfigurator) {
        self.name = name
        self.configurator = configurator
    }

    /// A preset that inherits from none: what is not set has the configurator's default.
    ///
    /// - Parameters:
    ///   - name: the name in errors.
    ///   - setting: called once, at once, with a configurator that nothing was set in.
    /// - Throws: what `setting` throws.
    public init<Fault: Error>(
        _ name: String,
        setting: (inout BridgeConfigurator) throws(Fault) -> Void
    ) throws(Fault) {
        var configurator = BridgeConfigurator()
        try setting(&configurator)
        self.init(name: name, configurator: configurator)
    }

    /// Another preset, which is like this one but for what is changed.
    ///
    /// - Parameters:
    ///   - name: the new preset's name in errors.
    ///   - change: called once, at once, with a copy of what this preset has: handlers can be added or exchanged, and a chain
    ///     be derived from ``BridgeConfigurator/navigation``. This preset stays as it is.
    /// - Throws: what `change` throws.
    public func deriving<Fault: Error>(
        _ name: String,
        change: (inout BridgeConfigurator) throws(Fault) -> Void
    ) throws(Fault) -> BridgePreset {
        var configurator = configurator
        try change(&configurator)
        return BridgePreset(name: name, configurator: configurator)
    }

    /// What a web view is told about pages of this kind, of which `url` is the first.
    ///
    /// - Throws: ``BridgeConfigurationError`` with this preset's name, as ``BridgeConfigurator/build(url:)`` says.
    public func configuration(url: URLText) throws(BridgeConfigurationError) -> BridgeConfiguration {
        do throws(BridgeConfigurationError) {
            return try configurator.build(url: url)
        } catch {
            throw error.of(preset: name)
        }
    }
}
