/// Something that changes the supervisor while messages flow.
struct Disturbance: Sendable {
    var at: Int
    var kind: Kind

    indirect enum Kind: Sendable {
        /// Registers the plugin; refused when its action has one.
        case register(PluginScenario)
        /// Registers it in the place of the one there; refused when there is none.
        case replace(PluginScenario)
        case remove(action: Int)
        case use(MiddlewareScenario, action: Int?)
        /// Several changes of plugins at once: all of them, or none when one is refused.
        case together([Kind])
        case removeSource(Int)
        /// Adds a source again; refused when it is there.
        case addSource(Int)
    }
}
