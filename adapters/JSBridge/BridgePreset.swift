public import SignalboxRoutes

/// A named, immutable page configuration for one kind of page, such as `product` or `payment`.
///
/// Presets derive from one another, so that each one contains only its differences. Start from ``init(_:setting:)``
/// when a preset must inherit nothing, such as one for payments.
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
    /// The preset without settings. It has no handlers, navigation stays within the origin of the page, the title is
    /// that of the page, and pages may be scaled.
    public static let `default` = BridgePreset(name: "default", configurator: BridgeConfigurator())

    /// The name, which appears in errors and wherever a program shows the preset of a page. It is not a lookup key.
    public let name: String
    private let configurator: BridgeConfigurator

    private init(name: String, configurator: BridgeConfigurator) {
        self.name = name
        self.configurator = configurator
    }

    /// Creates a preset that inherits nothing. Each option that `setting` leaves alone has the default of the
    /// configurator.
    ///
    /// - Parameters:
    ///   - name: The name in errors.
    ///   - setting: A closure that sets the options of an empty configurator. It is called once, synchronously.
    /// - Throws: Any error that `setting` throws.
    public init<Failure: Error>(
        _ name: String,
        setting: (inout BridgeConfigurator) throws(Failure) -> Void
    ) throws(Failure) {
        var configurator = BridgeConfigurator()
        try setting(&configurator)
        self.init(name: name, configurator: configurator)
    }

    /// Returns a copy of this preset with changes. This preset itself does not change.
    ///
    /// - Parameters:
    ///   - name: The name of the new preset in errors.
    ///   - change: A closure that changes a copy of this preset's configurator. It is called once, synchronously. It
    ///     can add or replace handlers, and derive a chain from ``BridgeConfigurator/navigation``.
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
    /// - Throws: ``BridgeConfigurationError`` with the name of this preset. See ``BridgeConfigurator/build(url:)``.
    public func configuration(url: URLText) throws(BridgeConfigurationError) -> BridgeConfiguration {
        do throws(BridgeConfigurationError) {
            return try configurator.build(url: url)
        } catch {
            throw error.of(preset: name)
        }
    }
}
