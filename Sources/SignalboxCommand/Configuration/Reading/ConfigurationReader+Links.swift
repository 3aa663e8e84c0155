import AppScheme
import SignalboxCore
import SignalboxRoutes

extension ConfigurationReader {
    func links(_ value: YAMLValue, _ limits: MessageLimits) -> LinksSource? {
        value.mapping("links") { keys in
            let routes = routes(keys)
            // A setting with an error counts as present, because the error was already reported.
            let listed = keys.optional("urls").map { $0.list() } ?? []
            let urls = listed?.compactMap { $0.text() } ?? []
            let file = keys.optional("file").map(namedFile)
            let input = keys.optional("standard_input")
            let isRead = input.map { $0.flag() } ?? false
            if isRead == true, let input { claimStandardInput(input) }
            if use.runsSources, listed?.isEmpty == true, file == nil, isRead == false {
                let advice = "'urls', 'file' or 'standard_input: true'"
                value.reportError("the source has no links; add \(advice)", .missingKey, advice: advice)
            }
            return routes.map { routes in
                let isRead = isRead ?? false
                return LinksSource(routes: routes, limits: limits, urls: urls, file: file ?? nil, standardInput: isRead)
            }
        }
    }

    /// Returns the routes from a mapping with the keys `routes` and `fallback`.
    func routes(_ keys: YAMLMapping) -> AppRoutes? {
        let advice = "list at least one { pattern: …, action: … }"
        let written = keys.required("routes", advice)
        let fallback = keys.optional("fallback")
        let action = fallback?.parsed(.badName) { try ActionName($0) }
        guard let written, let list = written.list() else { return nil }
        guard !list.isEmpty else {
            return written.refused(advice, .missingKey, advice: advice)
        }
        // If any route has an error, there is no point in checking the routes as a whole.
        let routes = list.compactMap(route)
        guard routes.count == list.count, fallback == nil || action != nil else { return nil }
        do throws(AppSchemeError) {
            let table = try AppRoutes(routes, fallback: action)
            if let action, let fallback { locations.actions.append(FixedAction(name: action, value: fallback)) }
            return table
        } catch {
            let location =
                error.code == .ambiguousRoutes ? list[ConfigurationReader.firstConflict(in: routes)] : written
            return location.refused(error.detail, error.code == .ambiguousRoutes ? .shadowedRoute : .invalidValue)
        }
    }

    private func route(_ value: YAMLValue) -> AppRoute? {
        value.mapping("route") { keys in
            let written = keys.required("pattern", "such as myapp://product/{id:int}")
            let pattern = written?.parsed(.badPattern) { try URLPattern($0) }
            let (action, once) = (keys.optional("action"), keys.optional("once"))
            let name = action?.parsed(.badName) { try ActionName($0) }
            let isOnce = once.map { $0.flag() } ?? false
            guard let written, let pattern, action == nil || name != nil, let isOnce else { return nil }
            let route = AppRoute(pattern, action: name, once: isOnce)
            do throws(AppSchemeError) {
                _ = try AppRoutes([route])
                if let name, let action {
                    locations.actions.append(FixedAction(name: name, pattern: pattern.text, value: action))
                }
                return route
            } catch {
                switch error.code {
                case .missingScheme, .forbiddenScheme: written.reportError(error.detail, .badPattern)
                case .conflictingAction: (action ?? value).reportError(error.detail, .conflictingKeys)
                case .conflictingID: (once ?? value).reportError(error.detail, .conflictingKeys)
                case .missingAction: value.reportError(error.detail, .missingKey)
                default: value.reportError(error.detail, .conflictingKeys)
                }
                return nil
            }
        }
    }

    /// Returns the index of the first route that conflicts with an earlier one.
    private static func firstConflict(in routes: [AppRoute]) -> Int {
        var (clear, clashing) = (1, routes.count)
        while clear + 1 < clashing {
            let middle = (clear + clashing) / 2
            if (try? AppRoutes(Array(routes[..<middle]))) != nil { clear = middle } else { clashing = middle }
        }
        return clashing - 1
    }

    private func claimStandardInput(_ value: YAMLValue) {
        if let holder = locations.standardInput {
            value.reportError(
                "stdin is already read by \(holder.path) in line \(holder.line); only one source can read it",
                .conflictingKeys
            )
        } else {
            locations.standardInput = value
        }
    }
}
