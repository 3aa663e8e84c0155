import SignalboxCore

/// Why a plugin did not take an action, with the plugin's name. One that consists of plugins has named each of them.
enum FallbackText {
    static func of(_ plugin: any Plugin.Type, _ finding: BodyError) -> String {
        plugin is any ComposedPlugin.Type ? finding.detail : "\(plugin): \(finding)"
    }

    static func of(_ plugin: any Plugin.Type, _ declined: PluginDeclined) -> String {
        plugin is any ComposedPlugin.Type ? declined.reason : "\(plugin): \(declined.reason)"
    }
}

/// A plugin that consists of plugins.
protocol ComposedPlugin {}
