//! Sets that were written under an older schema: of an object or a list that is atomic now, the
//! whole is owned.

use crate::managed_fields::element::Element;
use crate::managed_fields::set::{Node, Set};
use crate::managed_fields::types::{Ref, Sort, Types};

impl Types {
    /// Adapts a set to these types. As in the API server, a field that has become many stays one.
    #[doc(alias = "ReconcileFieldSetWithSchema")]
    pub(super) fn reconciled(&self, set: Set) -> Set {
        let root = self.root_type();
        if self.fits(root, &set) { set } else { self.reconciled_at(root, &set) }
    }

    fn below(&self, of: Ref, element: &Element) -> Option<Ref> {
        let atom = self.atom(of);
        match (element, &atom.map, &atom.list) {
            (Element::Field(name), Some(map), _) if !map.is_deduced() => map.member(name).0,
            (_, None, Some(list)) => Some(list.items),
            _ => None,
        }
    }

    fn is_one_field(&self, of: Ref) -> bool {
        let atom = self.atom(of);
        match (&atom.map, atom.scalar, &atom.list) {
            (Some(map), ..) => map.atomic && !map.is_deduced(),
            (None, None, Some(list)) => list.sort == Sort::Atomic,
            _ => false,
        }
    }

    fn fits(&self, of: Ref, set: &Set) -> bool {
        set.nodes().iter().filter(|node| !node.children.is_empty()).all(|node| {
            let below = self.below(of, &node.element);
            below.is_none_or(|below| !self.is_one_field(below) && self.fits(below, &node.children))
        })
    }

    fn reconciled_at(&self, of: Ref, set: &Set) -> Set {
        let nodes = set.nodes().iter().map(|node| {
            let below = self.below(of, &node.element).filter(|_| !node.children.is_empty());
            match below {
                None => node.clone(),
                Some(below) if self.is_one_field(below) => Node::leaf(node.element.clone()),
                Some(below) => Node {
                    element: node.element.clone(),
                    member: node.member,
                    children: self.reconciled_at(below, &node.children),
                },
            }
        });
        Set::of_nodes(nodes.collect())
    }
}
