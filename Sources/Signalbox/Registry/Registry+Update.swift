import SignalboxCore

extension Registry {
    /// Carries out changes in their order: all in one step, or none.
    ///
    /// - Returns: the plugins that lost their places.
    func update(_ changes: [RegistryChange]) throws(RegistrationError) -> [PluginEntry] {
        try exchange { (table) throws(RegistrationError) in
            var list = PluginList(table)
            var lost: [PluginEntry] = []
            for change in changes {
                if let entry = try list.apply(change) { lost.append(entry) }
            }
            return (list.table, lost)
        }
    }
}
