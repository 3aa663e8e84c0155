import SignalboxCore

/// ``PluginOptions`` without what depends on the plugin's `Info`.
@usableFromInline
struct LaneOptions: Sendable {
    let timeout: Duration?
    let order: Order
    let maxConcurrent: Int
    let retry: RetryPolicy?
    let circuitBreaker: CircuitBreakerPolicy?
    let whenUnavailable: RetryExhaustion
    let middleware: [any Middleware]
    /// What decoding a body as the plugin's `Info` finds wrong, or `nil`. For explanations: it calls no plugin, and is
    /// slower than the plugin's own decoding.
    let check: @Sendable (Body) -> BodyError?

    enum Order: Sendable { case source, none, key }

    @usableFromInline
    init<Info: Decodable & Sendable>(_ options: PluginOptions<Info>) {
        timeout = options.timeout
        order =
            switch options.order.rule {
            case .source: .source
            case .none: .none
            case .key: .key
            }
        maxConcurrent = options.maxConcurrent
        retry = options.retry
        circuitBreaker = options.circuitBreaker
        whenUnavailable = options.whenUnavailable
        middleware = options.middleware
        check = { body in
            do throws(BodyError) {
                _ = try body.decode(Info.self)
                return nil
            } catch {
                return error
            }
        }
    }
}
