import Signalbox
import SignalboxCore

/// Which tag a plugin is about: the one of the configuration, or else the one that the body names.
struct TagChoice: Sendable {
    let fixed: String?

    private struct Named: Decodable {
        let tag: String
    }

    /// - Throws: `PluginDeclined` when there is none.
    func tag(of context: ActionContext) throws(PluginDeclined) -> String {
        if let fixed { return fixed }
        do throws(BodyError) {
            return try context.body.decode(Named.self).tag
        } catch {
            throw PluginDeclined("the body names no tag: \(error)")
        }
    }
}
