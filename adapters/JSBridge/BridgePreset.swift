public import SignalboxRoutes

/// A named, immutable page configuration for one kind of page, such as `product` or `payment`.
///
/// Presets derive from one another, so each contains only its differences. A preset that must inherit nothing, such as
/// one for payments, starts from ``init(_:setting:)``.
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
    /// The preset without settings: no handlers, navigation within the page's origin, the page's title, and free scale.
    public static let `default` = BridgePreset(name: "default", configurator: BridgeConfigurator())

    /// The name, used in errors and wherever a program shows a page's preset. It is not a lookup key.
    public let name: String
    private let configurator: BridgeConfigurator

    private init(name: String, configurator: BridgeConfigurator) {
        self.name = name
        self.configurator = configurator
    }

    /// Creates a preset that inherits nothing; each option that is not set has the configurator's default.
    ///
    /// - Parameters:
    ///   - name: The name in errors.
    ///   - setting: A closure called once, synchronously, with an empty configurator.
    /// - Throws: Any error that `setting` throws.
    public init<Failure: Error>(
        _ name: String,
        setting: (inout BridgeConfigurator) throws(Failure) -> Void
    ) throws(Failure) {
        var configurator = BridgeConfigurator()
        try setting(&configurator)
        self.init(name: name, configurator: configurator)
    }

    /// Returns a copy of this preset with changes.
    ///
    /// - Parameters:
    ///   - name: The new preset's name in errors.
    ///   - change: A closure called once, synchronously, with a copy of this preset's configurator. It can add or
    ///     replace handlers and derive a chain from ``BridgeConfigurator/navigation``. This preset does not change.
    /// - Throws: Any error that `change` throws.
    public func deriving<Failure: Error>(
        _ name: String,
        change: (inout BridgeConfigurator) throws(Failure) -> Void
    ) throws(Failure) -> BridgePreset {
        var configurator = configurator
        try change(&configurator)
        return BridgePreset(name: name, configurator: configurator)
    }

    /// Returns the configuration of a web view for pages of this kind, of which `url` is the first.
    ///
    /// - Throws: ``BridgeConfigurationError`` with this preset's name; see ``BridgeConfigurator/build(url:)``.
    public func configuration(url: URLText) throws(BridgeConfigurationError) -> BridgeConfiguration {
        do throws(BridgeConfigurationError) {
            return try configurator.build(url: url)
        } catch {
            throw error.of(preset: name)
        }
    }
}
