import SignalboxCore

/// One step of what becomes of the registered plugins.
enum RegistryChange: Sendable {
    case add(PluginEntry)
    /// Takes the place of the plugin that holds the name.
    case replace(PluginEntry)
    case remove(ActionName)
}
