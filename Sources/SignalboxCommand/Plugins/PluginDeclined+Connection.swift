import Signalbox

extension PluginDeclined {
    /// What a plugin about connections says to an action that came by none.
    static let notByConnection = PluginDeclined("the action came by no connection of a chat or feed")
}
