public import SignalboxRoutes

/// A named, immutable page configuration for one kind of page, such as `product` or `payment`.
///
/// Presets derive from one another, so each one states only what differs. Use ``init(_:setting:)`` to create a preset
/// that must not inherit anything, such as one for payments.
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
    /// The preset with default settings. It has no handlers, navigation stays within the page's origin, the page
    /// supplies the title, and zooming is allowed.
    public static let `default` = BridgePreset(name: "default", configurator: BridgeConfigurator())

    /// The preset's name, which appears in errors and wherever a program shows which preset a page uses. Presets are
    /// not looked up by name.
    public let name: String
    private let configurator: BridgeConfigurator

    private init(name: String, configurator: BridgeConfigurator) {
        self.name = name
        self.configurator = configurator
    }

    /// Creates a preset that inherits nothing. Options that `setting` does not change keep the configurator's defaults.
    ///
    /// - Parameters:
    ///   - name: The name shown in errors.
    ///   - setting: A closure that sets options on a new configurator. It is called once, synchronously.
    /// - Throws: Any error that `setting` throws.
    public init<Failure: Error>(
        _ name: String,
        setting: (inout BridgeConfigurator) throws(Failure) -> Void
    ) throws(Failure) {
        var configurator = BridgeConfigurator()
        try setting(&configurator)
        self.init(name: name, configurator: configurator)
    }

    /// Returns a changed copy of this preset, and leaves this preset unchanged.
    ///
    /// - Parameters:
    ///   - name: The new preset's name, shown in errors.
    ///   - change: A closure that changes a copy of this preset's configurator. It is called once, synchronously, and
    ///     can add or replace handlers or derive a new chain from ``BridgeConfigurator/navigation``.
    /// - Throws: Any error that `change` throws.
    public func deriving<Failure: Error>(
        _ name: String,
        change: (inout BridgeConfigurator) throws(Failure) -> Void
    ) throws(Failure) -> BridgePreset {
        var configurator = configurator
        try change(&configurator)
        return BridgePreset(name: name, configurator: configurator)
    }

    /// Returns a web view configuration for this kind of page, whose first page is `url`.
    ///
    /// - Throws: ``BridgeConfigurationError`` with this preset's name. See ``BridgeConfigurator/build(url:)``.
    public func configuration(url: URLText) throws(BridgeConfigurationError) -> BridgeConfiguration {
        do throws(BridgeConfigurationError) {
            return try configurator.build(url: url)
        } catch {
            throw error.of(preset: name)
        }
    }
}
