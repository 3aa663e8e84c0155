/// ``PluginOptions`` without what depends on the plugin's `Info`.
@usableFromInline
struct LaneOptions: Sendable {
    let timeout: Duration?
    let order: Order
    let maxConcurrent: Int
    let retry: RetryPolicy?
    let circuitBreaker: CircuitBreakerPolicy?
    let middleware: [any Middleware]

    enum Order: Sendable { case source, none, key }

    @usableFromInline
    init<Info>(_ options: PluginOptions<Info>) {
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
        middleware = options.middleware
    }
}
