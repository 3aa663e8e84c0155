import SignalboxCore
import SignalboxRoutes

extension RouteMatch<AppRoute> {
    /// The action that the route makes of a link it matches, or why there is none.
    func reading(of url: URLText) -> Result<LinkAction, Outcome.Rejection> {
        Result { () throws(Outcome.Rejection) in try action(of: url) }
    }

    private func action(of url: URLText) throws(Outcome.Rejection) -> LinkAction {
        var action = value.action
        var id: ActionID?
        var members: [RouteNaming.Capture] = []
        let named = try Array(captures) + namedItems(of: url)
        for capture in named {
            switch capture.name {
            case "action": action = try name(capture.value)
            case "id": id = try self.id(capture.value)
            default: members.append(RouteNaming.Capture(name: capture.name, value: capture.value))
            }
        }
        guard let action else { throw .malformed("the link's query has no item that names the action") }
        let items = pattern.queryCaptures.isEmpty ? try items(of: url) : []
        if value.once {
            id = LinkIdentity(url, members: named.map { ($0.name, $0.value) } + items.map { ($0.name, $0.value) }).id
        }
        members += items
        return LinkAction(name: action, id: id, captures: members)
    }

    private func name(_ text: String) throws(Outcome.Rejection) -> ActionName {
        do throws(NameError) {
            return try ActionName(text)
        } catch {
            throw .malformed("the link's {action} names no action: \(error)")
        }
    }

    private func id(_ text: String) throws(Outcome.Rejection) -> ActionID {
        guard let id = ActionID(text) else {
            throw .malformed("the link's {id} has not 1 to \(ActionID.maximumLength) bytes")
        }
        return id
    }

    /// The items that the pattern's query part names.
    private func namedItems(of url: URLText) throws(Outcome.Rejection) -> RouteCaptures {
        do throws(URLTextError) {
            return try pattern.queryValues(of: url)
        } catch {
            throw .unreadableQuery(error)
        }
    }

    /// All items except those whose name a capture has.
    private func items(of url: URLText) throws(Outcome.Rejection) -> [RouteNaming.Capture] {
        let items: [URLQueryItem]
        do throws(URLTextError) {
            items = try url.queryItems()
        } catch {
            throw .unreadableQuery(error)
        }
        let captured = Set(captures.map(\.name))
        var names: Set<String> = []
        var members: [RouteNaming.Capture] = []
        for item in items where !captured.contains(item.name) {
            guard names.insert(item.name).inserted else {
                throw .malformed("an item stands in the link's query twice, and neither of the two counts more")
            }
            guard names.count <= AppRoutes.maximumItems else {
                throw .malformed("the link's query has more than \(AppRoutes.maximumItems) items")
            }
            guard item.name.utf8.count <= AppRoutes.maximumItemName else {
                throw .malformed("a name in the link's query has more than \(AppRoutes.maximumItemName) bytes")
            }
            members.append(RouteNaming.Capture(name: item.name, value: item.value))
        }
        return members
    }
}
