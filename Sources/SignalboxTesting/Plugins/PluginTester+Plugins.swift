import Signalbox
public import SignalboxCore

extension PluginTester {
    /// Asks a plugin that answers nothing.
    public init<P: Plugin>(_ plugin: P) where P.Reply == Void {
        self.init(plugin.action) { supervisor throws(RegistrationError) in
            try supervisor.register(plugin, from: PluginTester.anyOrigin)
        }
    }

    /// Asks a plugin whose reply is sent as JSON.
    public init<P: Plugin>(_ plugin: P) where P.Reply: Encodable {
        self.init(plugin.action) { supervisor throws(RegistrationError) in
            try supervisor.register(plugin, from: PluginTester.anyOrigin)
        }
    }

    /// Asks a plugin that works without waiting and answers nothing.
    public init<P: SyncPlugin>(_ plugin: P) where P.Reply == Void {
        self.init(plugin.action) { supervisor throws(RegistrationError) in
            try supervisor.register(plugin, from: PluginTester.anyOrigin)
        }
    }

    /// Asks a plugin that works without waiting and whose reply is sent as JSON.
    public init<P: SyncPlugin>(_ plugin: P) where P.Reply: Encodable {
        self.init(plugin.action) { supervisor throws(RegistrationError) in
            try supervisor.register(plugin, from: PluginTester.anyOrigin)
        }
    }

    /// Asks a plugin that handles a batch together; see ``outcomes(of:)``.
    public init<P: BatchPlugin>(_ plugin: P) {
        self.init(plugin.action) { supervisor throws(RegistrationError) in
            try supervisor.register(plugin, from: PluginTester.anyOrigin)
        }
    }
}
