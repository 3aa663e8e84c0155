import AppScheme
import SignalboxCore
import SignalboxRoutes

extension ConfigurationReader {
    static let routeKeys = ["routes", "fallback"]

    func links(_ value: YAMLValue) -> LinksSection? {
        guard let mapping = value.mapping(ConfigurationReader.routeKeys + ["urls", "file", "standard_input"]) else {
            return nil
        }
        let routes = routes(mapping)
        // What is there and has a mistake counts: it was told already.
        let listed = mapping.optional("urls").map { $0.list() } ?? []
        let urls = listed?.compactMap { $0.text() } ?? []
        let file = mapping.optional("file").map { text($0) }
        let standardInput = mapping.optional("standard_input")
        let isRead = standardInput.map { $0.flag() } ?? false
        if isRead == true, let standardInput { claimStandardInput(standardInput) }
        if use.runsSources, listed?.isEmpty == true, file == nil, isRead == false {
            value.complain("no link would come; say where from with 'urls', 'file' or 'standard_input: true'")
        }
        guard let routes else { return nil }
        var section = LinksSection(routes: routes.table, places: routes.places)
        section.urls = urls
        section.file = file ?? nil
        section.standardInput = isRead ?? false
        return section
    }

    /// The routes in a mapping with the keys ``routeKeys``.
    func routes(_ mapping: YAMLMapping) -> (table: AppRoutes, places: LinkPlaces)? {
        let fallback = mapping.optional("fallback")
        let action = fallback?.parsed { (text) throws(NameError) in try ActionName(text) }
        let advice = "list at least one { pattern: …, action: … }"
        guard let written = mapping.required("routes", advice), let list = written.list() else { return nil }
        guard !list.isEmpty else {
            written.complain(advice)
            return nil
        }
        // With a mistake in one of them nothing can be said about all of them.
        let found = list.map(route)
        let routes = found.compactMap { $0 }
        guard routes.count == found.count, fallback == nil || action != nil else { return nil }
        do throws(AppSchemeError) {
            return (try AppRoutes(routes, fallback: action), LinkPlaces(routes))
        } catch {
            let place = error.code == .ambiguousRoutes ? list[ConfigurationReader.firstClash(in: routes)] : written
            place.complain(error.detail)
            return nil
        }
    }

    private func route(_ value: YAMLValue) -> AppRoute? {
        guard let mapping = value.mapping(["pattern", "action", "once"]) else { return nil }
        let action = mapping.optional("action")
        let name = action?.parsed { (text) throws(NameError) in try ActionName(text) }
        let once = mapping.optional("once").map { $0.flag() }
        let written = mapping.required("pattern", "such as myapp://product/{id:int}")
        guard let written, let pattern = written.parsed({ (text) throws(RoutePatternError) in try URLPattern(text) }),
            action == nil || name != nil, once != .some(nil)
        else { return nil }
        let route = AppRoute(pattern, action: name, once: once.flatMap { $0 } ?? false)
        do throws(AppSchemeError) {
            _ = try AppRoutes([route])
            return route
        } catch {
            let place: YAMLValue? =
                switch error.code {
                case .missingScheme, .forbiddenScheme: written
                case .conflictingAction: action
                case .conflictingID: mapping.optional("once")
                default: value
                }
            (place ?? value).complain(error.detail)
            return nil
        }
    }

    /// The first route that an earlier one contradicts.
    private static func firstClash(in routes: [AppRoute]) -> Int {
        var (clear, clashing) = (1, routes.count)
        while clear + 1 < clashing {
            let middle = (clear + clashing) / 2
            if (try? AppRoutes(Array(routes[..<middle]))) != nil { clear = middle } else { clashing = middle }
        }
        return clashing - 1
    }

    private func claimStandardInput(_ value: YAMLValue) {
        if let holder = standardInput.holder {
            value.complain("stdin is read by \(holder.path) in line \(holder.line) already; only one source can")
        } else {
            standardInput.holder = value
        }
    }
}
