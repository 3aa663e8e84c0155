package import SignalboxCore
import Synchronization

/// How busy a plugin is at this moment.
package struct PluginLoad: Sendable, Hashable {
    /// The action that the plugin is registered for.
    package let plugin: ActionName
    /// The number of calls that are in progress and not overdue.
    package fileprivate(set) var running = 0
    /// The number of accepted actions that wait for a call or for their next attempt.
    package fileprivate(set) var waiting = 0
    /// The number of calls that were settled but have not returned.
    package fileprivate(set) var stalled = 0
    /// Whether the plugin's circuit breaker rejects actions.
    package fileprivate(set) var isCircuitOpen = false
}

extension Supervisor {
    /// How busy each plugin is that has received an action, in no particular order. A replaced plugin counts together with its
    /// replacement until its calls have returned.
    ///
    /// This takes time in proportion to the number of sources and keys for which actions wait.
    package var pluginLoads: [PluginLoad] {
        var loads: [ActionName: PluginLoad] = [:]
        for lane in lanes.all {
            lane.add(to: &loads[lane.entry.action, default: PluginLoad(plugin: lane.entry.action)])
        }
        return Array(loads.values)
    }
}

extension Lane {
    fileprivate func add(to load: inout PluginLoad) {
        let (running, stalled, waiting) = state.withLock { state in
            let busy = state.workers.filter { $0.current != nil }
            let stalled = busy.count { $0.isStalled }
            let rest = busy.reduce(0) { $0 + $1.waitingBehindCall }
            return (busy.count - stalled, stalled, rest + state.groups.waiting + state.retries.count)
        }
        load.running += running
        load.stalled += stalled
        load.waiting += waiting
        load.isCircuitOpen = load.isCircuitOpen || entry.breaker?.isClosed == false
    }
}
